import { setTimeout } from "node:timers/promises";

/** Waits until a condition holds. If it never holds, the wait ends with the test. */
export async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await setTimeout(5);
}
