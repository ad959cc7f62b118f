import { cellsOfWorkgroup } from "../reportBuffer.ts";
import { type Final, share } from "./conclusion.ts";
import type { Library } from "./library.ts";

/** The sums in the report to which replicas add what they presented. */
export interface Cells {
  /** The number of cells: a power of two, and several times `cellsOfWorkgroup`. */
  readonly count: number;
}

/**
 * Returns the name of a function that adds an invocation's final signature and tally to a cell of
 * the report. The second replica adds its signature with the opposite sign.
 *
 * No replica waits. After all work, every cell is zero unless two replicas disagree, one of them
 * never ran, or a store did not happen exactly once. Cells need no reset, and workgroups may share
 * one.
 *
 * One wrong signature always shows as a nonzero sum. Two equal errors must not cancel, so each
 * signature is last mixed with the number of its invocation. The difference that a fault makes then
 * depends on all that was presented, and errors cancel with a chance of 2⁻³². The mixing is that of
 * MurmurHash3, which is bijective. If only tallies count, a product distinguishes the tallies of
 * different invocations.
 *
 * Neighbors add to neighboring cells, with one operation for a line of cells. One sum per
 * subgroup in one cell took longer.
 */
export function balance(library: Library, { signature, tally }: Final, { count }: Cells): string {
  const { names } = library;
  const who = `(${names.the("pair")} * 0x9e3779b1u + ${names.the("local")})`;
  const own = `${names.the("pair")} * ${cellsOfWorkgroup}u + ${names.the("local")} % ${cellsOfWorkgroup}u`;
  return library.once(
    "balance",
    (name) => `
    fn ${name}() {
      ${signature ? mixed(signature, who) : ""}
      let share = ${signature ? share(library, { signature: "hash", tally }) : `${tally} * (2u * ${who} + 1u)`};
      atomicAdd(&${names.the("report")}.cells[(${own}) & ${count - 1}u], share);
    }`,
  );
}

/** Returns WGSL that declares a hash of a signature and of its invocation. */
const mixed = (signature: string, who: string): string => `
  var hash = ${signature} ^ ${who};
  hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
  hash ^= hash >> 16u;`;
