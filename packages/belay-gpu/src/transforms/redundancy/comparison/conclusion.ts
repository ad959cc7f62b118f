/**
 * The comparison of the replicas' results at the end of an entry point, in uniform control flow.
 */
import { recordCause } from "../reportBuffer.ts";
import type { Library } from "./library.ts";
import { newTally, tallyVariable } from "./tally.ts";

/** The bytes of workgroup memory per invocation of a conclusion with a barrier. */
export const finalBytes = 4;

/**
 * The result of a replica: the variable of its signature, if signatures are compared, and the
 * variable of its tally. Signatures of correct replicas are equal, and their tallies add up to
 * zero.
 */
export interface Final {
  readonly signature: string | undefined;
  readonly tally: string;
}

/** Returns the result of a replica with this signature variable. */
export const finalOf = (library: Library, signature: string | undefined): Final => ({
  signature,
  tally: tallyVariable(library),
});

/** Returns the word that a replica leaves for the other, as WGSL. */
const left = ({ signature, tally }: Final): string => (signature ? `${signature} + ${tally}` : tally);

/** Returns the word that a replica expects from the other, as WGSL. */
const expected = ({ signature, tally }: Final): string =>
  signature ? `${signature} - ${tally}` : `0u - ${tally}`;

/** Returns the word that a record contains. */
const told = ({ signature, tally }: Final): string => signature ?? tally;

/**
 * Returns the word that a replica adds to a sum, which is zero after both replicas have added
 * theirs. The sign of `signature` depends on the variable `replica`, which also guards stores.
 */
export function share({ names }: Library, { signature, tally }: Final): string {
  if (signature === undefined) return tally;
  return `select(0u - ${signature}, ${signature}, ${names.the("replica")} == 0u) + ${tally}`;
}

/**
 * Returns the name of a function `fn (site: u32)` for replicas that are lanes of one subgroup,
 * `distance` apart.
 */
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

/** Returns the statement by which a replica records its result. */
const recordOwn = ({ names }: Library, final: Final): string =>
  `${names.the("record")}(site, ${recordCause.mismatch}u, 0u, vec4<u32>(${told(final)}, 0u, 0u, 0u));`;

/**
 * Returns the name of a function `fn (site: u32)` for replicas anywhere in the workgroup.
 *
 * Both replicas add to a sum in workgroup memory and then test whether it is zero. Neither needs to
 * know which one it is. `lanes` is the number of invocations of the doubled workgroup, as a WGSL
 * expression (the largest, if several entry points share the function).
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
 * The names of the functions by which the first pass keeps its result and the second one compares
 * it.
 */
export interface Succession {
  /** The function `fn ()` that ends the first pass. */
  readonly keep: string;
  /** The function `fn (site: u32)` that ends the second pass. */
  readonly conclude: string;
}

/**
 * Returns the private variable of a lane's number in its workgroup. The variable `local` has the
 * number of the invocation instead. Both are equal in the last pass, unless a fault skipped that
 * pass.
 */
export const laneVariable = (library: Library): string =>
  library.once("lane", (name) => `var<private> ${name}: u32;`);

/**
 * Returns statements for the last pass. They compare with `theirs`, the other replica's word, and
 * record both results on a difference.
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

/** Returns statements that reset signature and tally for the second pass. */
const newFinal = (library: Library, { signature }: Final): string =>
  `${signature ? `${signature} = 0u;` : ""} ${newTally(library)}`;

/**
 * Returns the functions for invocations that swap lanes within a subgroup. A lane without a
 * neighbor finds its own word.
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
 * Returns the functions for invocations that swap lanes anywhere in the workgroup. `lanes` is the
 * number of invocations, as a WGSL expression (the largest, if several entry points share the
 * functions).
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
