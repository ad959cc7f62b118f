/**
 * How the replicas compare what they have come to, at the end of an entry point, where control flow
 * is uniform.
 */
import { recordCause } from "../reportBuffer.ts";
import type { Library } from "./library.ts";
import { newTally, tallyVariable } from "./tally.ts";

/** Bytes of workgroup memory that an invocation takes when the conclusion needs a barrier. */
export const finalBytes = 4;

/**
 * What a replica has come to: the variable of its signature, where signatures are compared, and its
 * tally.
 */
export interface Final {
  readonly signature: string | undefined;
  readonly tally: string;
}

/** What a replica has come to. Signatures are equal, and tallies add up to zero. */
export const finalOf = (library: Library, signature: string | undefined): Final => ({
  signature,
  tally: tallyVariable(library),
});

/** The word that a replica leaves for the other, as WGSL. */
const left = ({ signature, tally }: Final): string => (signature ? `${signature} + ${tally}` : tally);

/** The word that it finds unless something is wrong. */
const expected = ({ signature, tally }: Final): string =>
  signature ? `${signature} - ${tally}` : `0u - ${tally}`;

/** The word that a record tells. */
const told = ({ signature, tally }: Final): string => signature ?? tally;

/**
 * The word that a replica adds to a sum, which is zero when the other has added its own:
 * `signature` with the sign that the replica's number gives it, as the guards of stores read that
 * number, and the tally.
 */
export function share({ names }: Library, { signature, tally }: Final): string {
  if (signature === undefined) return tally;
  return `select(0u - ${signature}, ${signature}, ${names.the("replica")} == 0u) + ${tally}`;
}

/** A function `fn (site: u32)` for replicas that are lanes of one subgroup, `distance` apart. */
export function concludeByExchange(library: Library, final: Final, distance: string): string {
  return library.once(
    "conclude",
    (name) => `
    fn ${name}(site: u32) {
      if (subgroupShuffleXor(${left(final)}, ${distance}) != ${expected(final)}) {
        ${recordOwn(library, final)}
      }
    }`,
  );
}

/** Records, for one replica, what it has come to. */
const recordOwn = ({ names }: Library, final: Final): string =>
  `${names.the("record")}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(${told(final)}, 0u, 0u, 0u));`;

/**
 * A function `fn (site: u32)` for replicas anywhere in the workgroup. Both add to a sum in
 * workgroup memory, and both look whether it is zero then: neither needs to know which one it is.
 * `lanes` is the number of invocations of the doubled workgroup, as a WGSL expression (the largest,
 * when several entry points share the function).
 */
export function concludeByBarrier(library: Library, final: Final, lanes: string): string {
  const local = library.names.the("local");
  const finals = library.once(
    "finals",
    (name) => `var<workgroup> ${name}: array<atomic<u32>, (${lanes}) / 2u>;`,
  );
  return library.once(
    "conclude",
    (name) => `
    fn ${name}(site: u32) {
      atomicAdd(&${finals}[${local}], ${share(library, final)});
      workgroupBarrier();
      if (atomicLoad(&${finals}[${local}]) != 0u) { ${recordOwn(library, final)} }
    }`,
  );
}

/**
 * How a replica that runs before the other leaves what it has come to, and how the other finds it:
 * WGSL functions.
 */
export interface Succession {
  /** `fn ()`: ends the first pass. */
  readonly keep: string;
  /** `fn (site: u32)`: ends the second. */
  readonly conclude: string;
}

/**
 * The number that a lane has in its workgroup, as a private variable. The variable `local` says
 * which invocation it runs, and in the last pass that is the same, unless that pass never was.
 */
export const laneVariable = (library: Library): string =>
  library.once("lane", (name) => `var<private> ${name}: u32;`);

/**
 * Compares, in the last pass, with `theirs`, the word that the other replica has left; records
 * both.
 */
function compareLast(library: Library, final: Final, theirs: string): string {
  const [record, replica] = [library.names.the("record"), library.names.the("replica")];
  return `
    let theirs = ${theirs};
    if (theirs != ${expected(final)}) {
      ${record}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(${told(final)}, 0u, 0u, 0u));
      ${replica} = 1u;
      ${record}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(theirs + ${final.tally}, 0u, 0u, 0u));
    }`;
}

/** Begins the second pass with nothing presented and nothing stored. */
const newFinal = (library: Library, { signature }: Final): string =>
  `${signature ? `${signature} = 0u;` : ""} ${newTally(library)}`;

/**
 * For invocations that have swapped lanes within a subgroup, all but those that had nobody to swap
 * with.
 */
export function succeedByExchange(library: Library, final: Final): Succession {
  const [local, lane] = [library.names.the("local"), laneVariable(library)];
  const kept = library.once("kept", (name) => `var<private> ${name}: u32;`);
  const whose = library.once("whose", (name) => `var<private> ${name}: u32;`);
  return {
    keep: library.once(
      "keep",
      (name) => `fn ${name}() { ${kept} = ${left(final)}; ${whose} = ${local}; ${newFinal(library, final)} }`,
    ),
    conclude: library.once(
      "conclude",
      (name) => `
      fn ${name}(site: u32) {
        ${compareLast(library, final, `select(subgroupShuffleXor(${kept}, 1u), ${kept}, ${whose} == ${lane})`)}
      }`,
    ),
  };
}

/**
 * For invocations that have swapped lanes anywhere in the workgroup, of as many invocations as
 * `lanes` says (the largest, when several entry points share the functions).
 */
export function succeedByBarrier(library: Library, final: Final, lanes: string): Succession {
  const [local, lane] = [library.names.the("local"), laneVariable(library)];
  const finals = library.once("finals", (name) => `var<workgroup> ${name}: array<u32, ${lanes}>;`);
  return {
    keep: library.once(
      "keep",
      (name) => `fn ${name}() { ${finals}[${local}] = ${left(final)}; ${newFinal(library, final)} }`,
    ),
    conclude: library.once(
      "conclude",
      (name) => `
      fn ${name}(site: u32) {
        workgroupBarrier();
        ${compareLast(library, final, `${finals}[${lane}]`)}
      }`,
    ),
  };
}
