import { addressLoop } from "../../loops/analysis/addressLoop.ts";
import { type ControlWord, conflictKinds, states } from "../../loops/kernels/control.ts";
import { hasMarks } from "../../loops/kernels/marks.ts";
import { mostBitmapStores } from "../../loops/kernels/writeBitmap.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import { rounds } from "./tuning.ts";

/**
 * The name of a plan.
 * - `write bitmap`: executes windows as `in place` does. Its check is faster, but only tells
 *   whether there is any dependence.
 * - `in place`: executes windows up to the first iteration that depends on another one. If there
 *   would be too many windows, it reports a conflict.
 * - `proven`: executes windows that `in place` found in an earlier execution with the same
 *   addresses, without a check.
 * - `by reservation`: executes in place the iterations that are the first to access each of their
 *   elements; the others wait.
 * - `logged`: executes iterations on the memory from before the window, and commits those before
 *   the first misspeculation.
 * - `multi-version`: executes iterations on the stores of earlier ones of the window from the last
 *   round, until all store the same as in that round.
 */
export type PlanName = "write bitmap" | "in place" | "proven" | "by reservation" | "logged" | "multi-version";

/**
 * The work of rounds: the iterations evaluated, some more than once, and the iterations executed
 * for good.
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

/** The plans that are possible for a loop with its arrays and the available memory. */
export interface Possible {
  /** True if iterations can reserve the elements that they may access. */
  readonly reserve: boolean;
  /** True if these elements are exactly those that they access. */
  readonly isExact: boolean;
  /** True if elements can have versions. */
  readonly version: boolean;
}

/**
 * Returns the first plan for a loop without a profile. `marked` is the number of elements on which
 * iterations may depend.
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
 * Returns the plan to continue with if the last rounds showed that theirs is wrong; null if it is
 * right. Rounds show it by a conflict or by wasted work.
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
  // An iteration that reserves all elements that it may access also waits for iterations on which
  // it does not depend.
  if (can.reserve && (can.isExact || !can.version)) return { name: "by reservation", window };
  return can.version ? { name: "multi-version", window } : null;
}
