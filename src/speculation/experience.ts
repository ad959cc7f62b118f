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

/** Executions after which one begins as the first did, as the data may have become easier. */
const period = 16;

const known = new WeakMap<Loop, { readonly last: Experience; readonly executions: number }>();

/** What is known of a loop; null when nothing is, or it should be found out again. */
export function recall(loop: Loop): Experience | null {
  const found = known.get(loop);
  return found && found.executions % period !== 0 ? found.last : null;
}

/** Keeps what an execution of a loop ended with. */
export function remember(loop: Loop, last: Experience): void {
  known.set(loop, { last, executions: (known.get(loop)?.executions ?? 0) + 1 });
}
