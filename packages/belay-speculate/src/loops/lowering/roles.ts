import type { LoopArray } from "../tree/ir.ts";
import type { AccessedArray } from "./lowering.ts";
import { difference, type Linear, scale, subtract } from "./numbers/linear.ts";
import { hull, type Interval } from "./numbers/values.ts";

/**
 * Returns an array's role. A written array is `owned` if all its accesses are at `slope * i + d`
 * with one slope. The values of `d` must span less than the slope's move from one iteration to the
 * next.
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
  // A step that only the host knows is at least one.
  const move = scale(slope, Math.abs(stepSize ?? 1));
  const width = subtract(offsets.high, offsets.low);
  // If only the host knows the slope, a width from 0 to less than the move proves that the slope is
  // not zero.
  return [move, scale(move, -1)].some((distance) => (difference(width, distance) ?? 0) < 0);
}
