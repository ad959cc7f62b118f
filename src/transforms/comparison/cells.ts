import { cellsOfWorkgroup } from "../reportBuffer.ts";
import type { Library } from "./library.ts";

export interface Cells {
  /** How many there are: a power of two, and several times `cellsOfWorkgroup`. */
  readonly count: number;
}

/**
 * A function that adds an invocation's final signature to a cell of the report, the second replica with the opposite
 * sign. Nobody waits for anybody: once all work is done, every cell is zero, or else two replicas disagree, or one of
 * them never ran. Cells need no reset, and workgroups that share one do no harm.
 *
 * One wrong signature always shows, as a sum. For two that are wrong alike not to cancel, each is mixed last, with who
 * has computed it: then the difference that a fault makes depends on all that was presented, and the chance is 2⁻³².
 * The mixing is MurmurHash3's; it is bijective. Neighbours add to neighbouring cells, with one operation for a line of them: one sum
 * of a subgroup, in one cell, took longer.
 */
export function balance(library: Library, signature: string, { count }: Cells): string {
  const { names } = library;
  const own = `${names.the("pair")} * ${cellsOfWorkgroup}u + ${names.the("local")} % ${cellsOfWorkgroup}u`;
  return library.once(
    "balance",
    (name) => `
    fn ${name}() {
      var hash = ${signature} ^ (${names.the("pair")} * 0x9e3779b1u + ${names.the("local")});
      hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
      hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
      hash ^= hash >> 16u;
      let share = select(hash, 0u - hash, ${names.the("replica")} == 1u);
      atomicAdd(&${names.the("report")}.cells[(${own}) & ${count - 1}u], share);
    }`,
  );
}
