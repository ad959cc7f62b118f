import type { LoopArray } from "../tree/ir.ts";
import type { AccessedArray } from "./lowering.ts";
import { difference, type Linear, scale, subtract } from "./numbers/linear.ts";
import { hull, type Interval } from "./numbers/values.ts";

/**
 * What a loop does with an array. One that is written is `owned` when all its accesses are at
 * `slope * i + d` with one slope, and the values of `d` span less than the slope moves from one
 * iteration to the next.
 */
export function roleOf({ accesses }: AccessedArray, stepSize: number | null): LoopArray["role"] {
  if (accesses.every(({ kind }) => kind === "load")) return "read";
  return isOwned(accesses, stepSize) ? "owned" : "tracked";
}

function isOwned(accesses: AccessedArray["accesses"], stepSize: number | null): boolean {
  let slope: Linear | undefined;
  let offsets: Interval | undefined;
  for (const { index } of accesses) {
    if (!index) return false;
    slope ??= index.slope;
    if (difference(slope, index.slope) !== 0) return false;
    offsets = offsets ? hull(offsets, index) : index;
  }
  if (!slope || !offsets) return false;
  // A step that only the host knows moves by one at least.
  const move = scale(slope, Math.abs(stepSize ?? 1));
  const width = subtract(offsets.high, offsets.low);
  // Where the slope is known to the host only: a width of at least 0 that is less than the move
  // shows that there is one.
  return [move, scale(move, -1)].some((distance) => (difference(width, distance) ?? 0) < 0);
}
