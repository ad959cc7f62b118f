import { recordCause } from "../reportBuffer.ts";
import { comparedWords, declareAgreement, type ReplicaChannel, shareEach } from "./channel.ts";
import type { Library } from "./library.ts";
import { foldText } from "./valueWords.ts";

/** The number of polls after which a replica gives up waiting for its partner's word. */
const patience = 65536;

/**
 * The number of banks of slots. A replica can be three turns ahead of a partner that still reads
 * the oldest bank. It then has left an agreement, shared two words without waiting, and entered the
 * next agreement.
 */
const banks = 4;

/**
 * The bytes of workgroup memory of an invocation's slots: a word for each of its two replicas, per
 * bank.
 */
export const slotBytes = banks * 4 * 2;

/**
 * Returns a bounded handshake in workgroup memory. Each replica publishes a word and waits until
 * its partner's word equals its own.
 *
 * The word contains a turn number, so equality completes the handshake without a fence or barrier.
 * Banks of slots alternate, so that no replica overwrites a word that its partner still waits for.
 * Running out of polls is a detected fault, after which neither replica waits again.
 *
 * `lanes` is the number of invocations of the doubled workgroup, as a WGSL expression (the largest,
 * if several entry points share the slots).
 */
export function workgroupChannel(library: Library, lanes: string): ReplicaChannel {
  const { names } = library;
  const alone = () => library.once("alone", (name) => `var<private> ${name}: bool;`);
  const turn = () => library.once("turn", (name) => `var<private> ${name}: u32;`);
  const slots = () =>
    library.once("slots", (name) => `var<workgroup> ${name}: array<atomic<u32>, ${banks}u * (${lanes})>;`);
  const bank = () => `${turn()} % ${banks}u * (${lanes})`;

  /**
   * Returns the function that shares a word. The leader writes the word under two keys. Two slots
   * that decode to one word prove that both belong to this turn.
   */
  const shareOne = () =>
    library.once(
      "share1",
      (name) => `
      fn ${name}(site: u32, value: u32) -> u32 {
        if (${alone()}) { return value; }
        ${turn()} += 1u;
        let key = ${foldText(library, "site", [turn()])};
        let first = ${bank()} + 2u * ${names.the("local")};
        if (${names.the("replica")} == 0u) {
          atomicStore(&${slots()}[first], value ^ key);
          atomicStore(&${slots()}[first + 1u], value ^ ~(key >> 1u));
          return value;
        }
        for (var i = 0u; i < ${patience}u; i++) {
          let received = atomicLoad(&${slots()}[first]) ^ key;
          if (atomicLoad(&${slots()}[first + 1u]) == (received ^ ~(key >> 1u))) { return received; }
        }
        ${alone()} = true;
        ${names.the("record")}(site, ${recordCause.partnerAbsent}u, 0u, vec4<u32>(value));
        return value;
      }`,
    );

  return {
    // An agreement keeps the replicas within a turn of each other; sharing alone lets the leader
    // run ahead.
    shareNeedsAgreement: true,
    isAlone: alone,
    agree: (compared) =>
      declareAgreement(library, compared, () => ({
        statements: `
          if (${alone()}) { return false; }
          ${turn()} += 1u;
          let word = ${foldText(library, `site ^ (${turn()} << 8u)`, comparedWords(compared))};
          let mine = ${bank()} + 2u * ${names.the("local")} + ${names.the("replica")};
          atomicStore(&${slots()}[mine], word);
          for (var i = 0u; i < ${patience}u; i++) {
            if (atomicLoad(&${slots()}[mine ^ 1u]) == word) { return true; }
          }
          ${alone()} = true;`,
        cause: `${recordCause.mismatch}u`,
      })),
    share: (count) => shareEach(library, shareOne(), count),
  };
}
