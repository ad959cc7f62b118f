import { conflictKinds, states } from "../loops/kernels/control.ts";
import type { PlanName } from "./plans.ts";
import { firstWindow } from "./progress.ts";
import type { ControlState } from "./rounds.ts";
import type { Work } from "./tally.ts";

/** Iterations executed for each one committed above which the log is the wrong plan. */
const mostWaste = 4;

export interface NextPlan {
  readonly name: PlanName;
  /** Iterations of its first window, if there are as many. */
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
 * The plan to go on with after rounds that found, or showed by what they wasted, that theirs is the wrong one; null when it is not.
 */
export function nextPlan(
  plan: PlanName,
  { state, conflicts }: Pick<ControlState, "state" | "conflicts">,
  { evaluated, executed }: Work,
  can: Possible,
): NextPlan | null {
  const conflicting = state === states.conflicting;
  if (conflicting && (conflicts & conflictKinds.unclear) !== 0) return { name: "in place", window: Infinity };
  if (conflicting && (conflicts & conflictKinds.flow) === 0) return { name: "logged", window: Infinity };
  if (conflicting) return { name: can.reserve ? "by reservation" : "logged", window: firstWindow };
  const isWaste = plan === "logged" && evaluated > mostWaste * executed;
  if (state !== states.running || !isWaste) return null;
  // Who reserves all that it may access waits for iterations that it does not depend on.
  if (can.reserve && (can.isExact || !can.version)) return { name: "by reservation", window: firstWindow };
  return can.version ? { name: "versioned", window: firstWindow } : null;
}
