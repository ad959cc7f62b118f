import { addressLoop } from "../../loops/analysis/addressLoop.ts";
import { type ControlWord, conflictKinds, states } from "../../loops/kernels/control.ts";
import { hasMarks } from "../../loops/kernels/marks.ts";
import { mostBitmapStores } from "../../loops/kernels/writeBitmap.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import { rounds } from "./tuning.ts";

/**
 * - `write bitmap`: as `in place`, and finds out that nothing depends in less time, but nothing else.
 * - `in place`: executes windows up to the first iteration that depends on another one; where that
 *   makes too many of them, they conflict.
 * - `proven`: executes windows that `in place` has found in an earlier execution with the same
 *   addresses, and checks nothing.
 * - `by reservation`: executes iterations that are the first to touch what they touch, in place;
 *   the others wait.
 * - `logged`: executes iterations on what was there before the window, and commits those before the
 *   first that should have seen something else.
 * - `multi-version`: executes iterations on what earlier ones of the window stored the last time, until
 *   they store nothing else.
 */
export type PlanName = "write bitmap" | "in place" | "proven" | "by reservation" | "logged" | "multi-version";

/**
 * The work of rounds: iterations that they looked at, some more than once, and iterations that they
 * executed for good.
 */
export interface Work {
  readonly evaluated: number;
  readonly executed: number;
}

/** The plan of the next rounds, and the iterations of its first window, if there are as many. */
export interface NextPlan {
  readonly name: PlanName;
  readonly window: number;
}

/** What can be done for a loop, with its arrays and the memory that there is. */
export interface Possible {
  /** Iterations can reserve what they may access. */
  readonly reserve: boolean;
  /** That is just what they access. */
  readonly isExact: boolean;
  /** Elements can have versions. */
  readonly version: boolean;
}

/**
 * Chooses the plan to begin a loop with that may depend on so many elements, when nothing else is
 * known of it.
 */
export function firstPlan(loop: Loop, marked: number): PlanName {
  const addresses = addressLoop(loop);
  if (!addresses?.isExact) return "logged";
  if (addresses.isPredicted) return "in place";
  const stores = (loop.mostStores ?? Infinity) + loop.carried.length;
  return hasMarks(loop) && stores <= mostBitmapStores && marked >= rounds.fewestBits
    ? "write bitmap"
    : "in place";
}

/**
 * Chooses the plan to go on with after rounds that found, or showed by what they wasted, that
 * theirs is wrong; null when it is not.
 */
export function nextPlan(
  plan: PlanName,
  { state, conflicts }: Readonly<Record<ControlWord & ("state" | "conflicts"), number>>,
  { evaluated, executed }: Work,
  can: Possible,
): NextPlan | null {
  const window = rounds.firstWindow;
  const conflicting = state === states.conflicting;
  if (conflicting && (conflicts & conflictKinds.unclear) !== 0) return { name: "in place", window: Infinity };
  if (conflicting && (conflicts & conflictKinds.flow) === 0) return { name: "logged", window: Infinity };
  if (conflicting) return { name: can.reserve ? "by reservation" : "logged", window };
  const isWaste = plan === "logged" && evaluated > rounds.logWaste * executed;
  if (state !== states.running || !isWaste) return null;
  // An iteration that reserves all that it may access waits for iterations that it does not depend
  // on.
  if (can.reserve && (can.isExact || !can.version)) return { name: "by reservation", window };
  return can.version ? { name: "multi-version", window } : null;
}
