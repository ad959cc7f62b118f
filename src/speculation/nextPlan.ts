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

/**
 * The plan to go on with after rounds that found, or showed by what they wasted, that theirs is the wrong one; null when it is not. What
 * `can` be done depends on the loop and on the memory that it needs.
 */
export function nextPlan(
  plan: PlanName,
  { state, conflicts }: Pick<ControlState, "state" | "conflicts">,
  { evaluated, executed }: Work,
  can: { readonly reserve: boolean; readonly version: boolean },
): NextPlan | null {
  const conflicting = state === states.conflicting;
  if (conflicting && (conflicts & conflictKinds.unclear) !== 0) return { name: "in place", window: Infinity };
  if (conflicting && (conflicts & conflictKinds.flow) === 0) return { name: "logged", window: Infinity };
  if (conflicting) return { name: can.reserve ? "by reservation" : "logged", window: firstWindow };
  const isWaste = plan === "logged" && evaluated > mostWaste * executed;
  if (state !== states.running || !isWaste) return null;
  if (can.reserve) return { name: "by reservation", window: firstWindow };
  return can.version ? { name: "versioned", window: firstWindow } : null;
}
