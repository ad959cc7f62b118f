import { cellsOfWorkgroup } from "../reportBuffer.ts";
import { type Final, share } from "./conclusion.ts";
import type { Library } from "./library.ts";

export interface Cells {
  /** How many there are: a power of two, and several times `cellsOfWorkgroup`. */
  readonly count: number;
}

/**
 * A function that adds what an invocation has come to, to a cell of the report: its final
 * signature, which the second replica adds with the opposite sign, and its tally. Nobody waits for
 * anybody: once all work is done, every cell is zero, or else two replicas disagree, or one of them
 * never ran, or a store did not happen once. Cells need no reset, and workgroups that share one do
 * no harm.
 *
 * One wrong signature always shows, as a sum. For two that are wrong alike not to cancel, each is
 * mixed last, with who has computed it: then the difference that a fault makes depends on all that
 * was presented, and the chance is 2⁻³². The mixing is MurmurHash3's; it is bijective. Neighbours
 * add to neighbouring cells, with one operation for a line of them: one sum of a subgroup, in one
 * cell, took longer. Where only tallies count, a product tells those of different invocations
 * apart.
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

/** Declares a hash of a signature and of who has computed it. */
const mixed = (signature: string, who: string): string => `
  var hash = ${signature} ^ ${who};
  hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
  hash ^= hash >> 16u;`;
