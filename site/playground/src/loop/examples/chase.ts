/** Loads an address that an earlier iteration may have stored: known only while the loop runs. */
import { configure, type SpeculateOptions, schedule, speculate } from "belay-speculate";

async function chase(next: Int32Array, n: number, options: SpeculateOptions) {
  "use speculate";
  speculate(next);
  schedule(64);
  configure(options);
  for (let i = 0; i < n; i++) {
    const at = next[i]! & 511;
    next[at] = (next[at]! + i) & 511;
  }
}

export const run = async (options: SpeculateOptions) => {
  const next = Int32Array.from({ length: 512 }, (_, i) => (Math.imul(i + 7, 0x9e3779b1) >>> 13) & 511);
  await chase(next, 256, options);
  return next;
};
