import { firstSlice } from "../policy/tuning.ts";

/** Iterations of a loop that the CPU executed at a stretch. */
export interface Slice {
  readonly iterations: number;
  /** Milliseconds that they took. */
  readonly time: number;
  /** The next iteration. */
  readonly next: number;
}

/**
 * Executes iterations from `from` to `to - 1` on the CPU, in slices of which each is at most twice
 * as long as the one before, for as long as `goesOn` wants.
 */
export function runInSlices(
  run: (from: number, to: number) => { readonly next: number; readonly ended: boolean },
  from: number,
  to: number,
  goesOn: (slice: Slice) => boolean,
): { readonly next: number; readonly ended: boolean } {
  let result = { next: from, ended: false };
  for (let length = firstSlice; result.next < to && !result.ended; length *= 2) {
    const { next } = result;
    const start = performance.now();
    result = run(next, Math.min(to, next + length));
    const time = performance.now() - start;
    if (!goesOn({ iterations: result.next - next, time, next: result.next })) break;
  }
  return result;
}
