/** Needs the result of 24 iterations before: a window ends where it would meet itself. */
import { configure, type SpeculateOptions, schedule, speculate } from "belay-speculate";

async function recurrence(a: Int32Array, n: number, options: SpeculateOptions) {
  "use speculate";
  speculate(a);
  schedule(64);
  configure(options);
  for (let i = 24; i < n; i++) {
    a[i] = (Math.imul(a[i - 24]!, 5) + i) | 0;
  }
}

export const run = async (options: SpeculateOptions) => {
  const a = new Int32Array(280);
  await recurrence(a, 280, options);
  return a;
};
