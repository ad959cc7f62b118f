import { setTimeout } from "node:timers/promises";

/** Waits until something holds. A wait for what never happens ends with the test. */
export async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await setTimeout(5);
}
