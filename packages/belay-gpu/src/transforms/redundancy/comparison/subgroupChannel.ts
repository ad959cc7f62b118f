import { recordCause } from "../reportBuffer.ts";
import { declareAgreement, type ReplicaChannel } from "./channel.ts";
import type { Library } from "./library.ts";
import { type Words, wordType } from "./valueWords.ts";

/**
 * Returns the exchange of registers between replicas that are lanes of one subgroup, `distance`
 * apart. A ballot tells whether the partner is active, because reading from an inactive lane is
 * undefined.
 *
 * Source:   Wadden et al. 2014, section 8.
 */
export function subgroupChannel(library: Library, distance: string): ReplicaChannel {
  const { names } = library;
  const together = () =>
    library.once(
      "together",
      (name) => `
      fn ${name}() -> bool { return any((subgroupBallot(true) & ${names.the("partner")}) != vec4<u32>()); }`,
    );

  return {
    shareNeedsAgreement: false,
    // Every lane must take part in the ballot, so operators must not short-circuit it.
    isAlone: () => `!${together()}()`,
    agree(compared) {
      const { address, words } = compared;
      const exchanged = [...(address ? ["address"] : []), ...(words ? ["value"] : [])];
      // `&` joins the conditions. From `all` of one bool after `&&`, Chromium 143 generates SPIR-V
      // that it then rejects.
      const equal = exchanged.map((word) => `all(${word} == their_${word})`);
      return declareAgreement(library, compared, () => ({
        statements: `
          ${exchanged.map((word) => `let their_${word} = subgroupShuffleXor(${word}, ${distance});`).join("\n")}
          let together = ${together()}();
          if (${["together", ...equal].join(" & ")}) { return true; }
          let cause = select(${recordCause.partnerAbsent}u, ${recordCause.mismatch}u, together);`,
        cause: "cause",
      }));
    },
    share(count: Words["count"]) {
      return library.once(
        `share${count}`,
        (name) => `
        fn ${name}(site: u32, value: ${wordType(count)}) -> ${wordType(count)} {
          let theirs = subgroupShuffleXor(value, ${distance});
          return select(value, theirs, (${names.the("replica")} != 0u) & ${together()}());
        }`,
      );
    },
  };
}
