import { gaveUp, patienceOf } from "../mailbox.ts";
import { recordCause } from "../reportBuffer.ts";
import { comparedWords, declareAgreement, type ReplicaChannel, shareEach } from "./channel.ts";
import type { Library } from "./library.ts";
import { foldText } from "./valueWords.ts";

/** The number of polls between two tests whether the twin has left. */
const glance = 2 ** 10;

/**
 * Returns a handshake through the mailbox in the report buffer, between invocations of twin
 * workgroups. All reads are atomic, so both twins read at the second-level cache.
 *
 * A word is sent in two slots, under two keys that name its epoch, pair and turn. If both slots
 * decode to one word, it is the word of this turn, even if only one slot has arrived. Slots of
 * another turn never decode to one word. A different word is thus distinguished from a missing one,
 * without a fence. Both replicas send and both wait in every turn, so the slots of two turns
 * alternate.
 *
 * Every wait ends. If the twin has left without sending, it has taken another path: a fault. If it
 * has not left, or has itself given up, then it did not run for long, and nothing is known
 * (`waitedTooLong`). A replica whose wait ran out never waits again, nor does any other invocation
 * of its workgroup, or of a workgroup that starts later.
 *
 * Source:   Wadden et al. 2014, section 7.
 */
export function interGroupChannel(library: Library): ReplicaChannel {
  const { names } = library;
  const n = (thing: string) => names.the(thing);
  const [report, replica] = [n("report"), n("replica")];
  const alone = () => library.once("alone", (name) => `var<private> ${name}: bool;`);
  const turn = () => library.once("turn", (name) => `var<private> ${name}: u32;`);
  const slot = (whose: string) =>
    `${n("mail")} + ((${turn()} & 1u) * 4u + (${whose}) * 2u) * ${n("mail_stride")}`;
  const key = () => foldText(library, n("stamp"), [turn()]);

  /**
   * Returns the function that begins a turn after the previous pair has left the place. Unless the
   * ring is small, it left long ago.
   */
  const begin = () =>
    library.once(
      "begin",
      (name) => `
      fn ${name}(site: u32) -> bool {
        ${turn()} += 1u;
        ${alone()} |= atomicLoad(&${n("given_up")}) != 0u;
        if (${alone()}) { return false; }
        for (var i = 0u; i < ${patienceOf(names)} && !${n("place_is_free")}; i++) {
          ${n("place_is_free")} = atomicLoad(&${report}.places[${n("place")}]) == ~${n("stamp_before")};
        }
        if (${n("place_is_free")}) { return true; }
        ${alone()} = true;
        ${n("wait_ran_out")}(site);
        return false;
      }`,
    );

  const send = () =>
    library.once(
      "send",
      (name) => `
      fn ${name}(word: u32) {
        let key = ${key()};
        let slot = ${slot(replica)};
        atomicStore(&${report}.mail[slot], word ^ key);
        atomicStore(&${report}.mail[slot + ${n("mail_stride")}], word ^ ~(key >> 1u));
      }`,
    );

  const receive = () =>
    library.once(
      "receive",
      (name) => `
      fn ${name}(site: u32) -> u32 {
        let key = ${key()};
        let slot = ${slot(`${replica} ^ 1u`)};
        var has_left = false;
        for (var i = 0u; i < ${patienceOf(names)}; i++) {
          let word = atomicLoad(&${report}.mail[slot]) ^ key;
          if (atomicLoad(&${report}.mail[slot + ${n("mail_stride")}]) == (word ^ ~(key >> 1u))) { return word; }
          if (i % ${glance}u == ${glance - 1}u) {
            let mark = atomicLoad(&${report}.places[${n("place")}]);
            // What the twin sent before it left may still be on its way, so there is one more
            // round.
            if (has_left || mark == ${n("stamp")} + ${gaveUp}) { break; }
            has_left = mark == ${n("stamp")};
          }
        }
        ${alone()} = true;
        if (has_left) { ${n("record")}(site, ${recordCause.partnerAbsent}u, 0u, vec4<u32>()); }
        else { ${n("wait_ran_out")}(site); }
        return 0u;
      }`,
    );

  const shareOne = () =>
    library.once(
      "share1",
      (name) => `
      fn ${name}(site: u32, value: u32) -> u32 {
        if (!${begin()}(site)) { return value; }
        ${send()}(select(0u, value, ${replica} == 0u));
        let word = ${receive()}(site);
        return select(word, value, (${replica} == 0u) | ${alone()});
      }`,
    );

  return {
    shareNeedsAgreement: false,
    isAlone: alone,
    agree: (compared) =>
      declareAgreement(library, compared, () => ({
        statements: `
          if (!${begin()}(site)) { return false; }
          let word = ${foldText(library, "site", comparedWords(compared))};
          ${send()}(word);
          let theirs = ${receive()}(site);
          if (${alone()}) { return false; }
          if (theirs == word) { return true; }
          ${alone()} = true;`,
        cause: `${recordCause.mismatch}u`,
      })),
    share: (count) => shareEach(library, shareOne(), count),
  };
}
