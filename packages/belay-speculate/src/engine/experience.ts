import type { Loop } from "../loops/ir.ts";
import type { PlanName } from "./plans.ts";

/** What earlier executions of a loop ended with, and the next one begins with: most loops meet data like that before. */
export interface Experience {
  readonly plan: PlanName;
  /** Iterations of a window that depends on how the iterations do. */
  readonly window: number;
  /** Most iterations of a window that did not take too long. */
  readonly longest: number;
  /** Rounds that are likely to be needed. */
  readonly rounds: number;
}

/** Executions after which one begins as the first did, as the data may have become easier; twice as many each time that it has not. */
const period = 16;

interface Known {
  readonly last: Experience;
  readonly period: number;
  /** Executions that begin with it. */
  readonly left: number;
}

const known = new WeakMap<Loop, Known>();

/** What is known of a loop; null when nothing is, or it should be found out again. */
export function recall(loop: Loop): Experience | null {
  const found = known.get(loop);
  return found && found.left > 0 ? found.last : null;
}

/** Keeps what an execution of a loop ended with. */
export function remember(loop: Loop, last: Experience): void {
  const before = known.get(loop);
  if (before && before.left > 0) {
    known.set(loop, { ...before, last, left: before.left - 1 });
  } else {
    const next = before?.last.plan === last.plan ? 2 * before.period : period;
    known.set(loop, { last, period: next, left: next - 1 });
  }
}
