/** Stores of elements smaller than a granule, for which the lanes of a subgroup make the check word together. */
import { executionBound } from "../../analysis/executionBound.ts";
import type { MemoryAccess } from "../../analysis/memoryAccesses.ts";
import type { FunctionDeclaration } from "../../wgsl/ast.ts";
import { sizeOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";

/**
 * The bytes of an element, where a kernel only stores to a buffer, at one place in its text and at most once in each
 * invocation. So no word is stored twice, by whichever lanes, and the updates of a check word may come in any order.
 */
export function laneElement(
  program: Program,
  kernel: FunctionDeclaration,
  accesses: readonly MemoryAccess[],
): 4 | 8 | undefined {
  const [store, ...others] = accesses;
  if (!store?.place || store.kind !== "store" || others.length > 0) return undefined;
  if (executionBound(program, kernel, new Set([store.expression])) !== 1) return undefined;
  return isWords(store.place.type) ? (sizeOf(store.place.type) as 4 | 8) : undefined;
}

/** A scalar of four bytes, or two of them. */
function isWords(type: Type): boolean {
  const element = type.kind === "vector" && type.size === 2 ? type.element : type;
  return element.kind === "scalar" && sizeOf(element) === 4;
}
