import type { Loop, LoopArray } from "../../tree/ir.ts";
import { workgroupSize } from "./kernel.ts";
import { atomics, valueType } from "./memory.ts";
import { fromBits, toBits, wgslName } from "./names.ts";

/** The number of cells that a workgroup has for all combined arrays of a loop together. */
export const mostCells = 1024;

/**
 * The number of invocations that execute a loop with combined arrays. Each executes several
 * iterations of a longer loop, so that a workgroup combines more values in its cells than it has
 * cells.
 */
export const mostInvocations = 2 ** 18;

/** Returns the arrays of a loop whose elements it combines with values. */
export const combinedArrays = (loop: Loop): readonly LoopArray[] =>
  loop.arrays.filter(({ role }) => role === "combined");

/**
 * Returns the functions by which a workgroup combines values for one of `among` arrays. A short
 * array has a cell for each element in the workgroup's memory. Workgroups then seldom wait for each
 * other.
 * - `fn clear_a(local: u32)` comes first, and then a barrier.
 * - `fn combine_a(element: u32, bits: u32)` combines a cell with a value; in a long array, the
 *   element itself.
 * - `fn flush_a(local: u32)` comes after another barrier, and combines the elements with the cells.
 */
export function emitCells(array: LoopArray, among: number): string {
  const name = wgslName(array.name);
  const type = valueType(array.element);
  const cells = `${Math.floor(mostCells / among)}u`;
  const length = `params.length_${name}`;
  return `
var<workgroup> cells_${name}: array<atomic<${type}>, ${cells}>;

fn clear_${name}(local: u32) {
  for (var cell = local; cell < min(${length}, ${cells}); cell += ${workgroupSize}) {
    atomicStore(&cells_${name}[cell], ${fromBits(type, neutralBits(array))});
  }
}

fn combine_${name}(element: u32, bits: u32) {
  if (${length} > ${cells}) { poke_${name}(element, bits); return; }
  ${atomics[array.operator!]}(&cells_${name}[element], ${fromBits(type, "bits")});
}

fn flush_${name}(local: u32) {
  if (${length} > ${cells}) { return; }
  for (var cell = local; cell < ${length}; cell += ${workgroupSize}) {
    let bits = ${toBits(type, `atomicLoad(&cells_${name}[cell])`)};
    if (bits != ${neutralBits(array)}) { poke_${name}(cell, bits); }
  }
}`.trim();
}

/** Returns the bits of the value that changes no element of a combined array. */
function neutralBits({ element, operator }: LoopArray): string {
  const isSigned = element === "i32";
  switch (operator) {
    case "&":
      return "0xffffffffu";
    case "min":
      return isSigned ? "0x7fffffffu" : "0xffffffffu";
    case "max":
      return isSigned ? "0x80000000u" : "0u";
    default:
      return "0u";
  }
}
