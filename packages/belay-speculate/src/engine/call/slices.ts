import { firstSlice } from "../policy/tuning.ts";

/** Consecutive iterations of a loop that the CPU executed without interruption. */
export interface Slice {
  readonly iterations: number;
  /** The milliseconds that the slice took. */
  readonly time: number;
  /** The first iteration after the slice. */
  readonly next: number;
}

/**
 * Executes the iterations from `from` to `to - 1` on the CPU, in slices. Each slice has at most
 * twice as many iterations as the one before. Stops early if the loop ends or `goesOn` returns
 * false.
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
