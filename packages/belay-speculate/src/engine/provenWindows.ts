import type { Loop } from "../loops/ir.ts";
import { addressLoop } from "../loops/kernels/addressLoop.ts";
import type { Part } from "./execution.ts";

/** Executions of one loop that are kept. */
const mostKept = 8;

const known = new WeakMap<Loop, Map<string, readonly number[]>>();

/**
 * Lengths of windows, one behind the other, in none of which an iteration depends on another one, as an earlier execution with the same
 * addresses has found; null when none has. Only loops whose addresses follow from numbers have such: the numbers are compared.
 *
 * Source: schedules of inspectors that are used again; Ponnusamy, Saltz, Choudhary, "Runtime compilation techniques for data partitioning
 * and communication schedule reuse", 1993.
 */
export function recallWindows(loop: Loop, numbers: string | null): readonly number[] | null {
  return numbers === null ? null : (known.get(loop)?.get(numbers) ?? null);
}

/** Keeps the windows that were found for all iterations of an execution. */
export function rememberWindows(loop: Loop, numbers: string, windows: readonly number[]): void {
  const all = known.get(loop) ?? new Map<string, readonly number[]>();
  known.set(loop, all);
  all.set(numbers, windows);
  if (all.size > mostKept) all.delete(all.keys().next().value!);
}

/** Everything that the addresses of the iterations follow from, before they are executed; null where that is more than numbers. */
export function numbersOf({
  loop,
  inputs,
  carried,
  lengths,
  first,
  step,
  count,
}: Omit<Part, "buffers" | "reductions">): string | null {
  if (!addressLoop(loop)?.followsFromNumbers) return null;
  const values = [
    ...[first, step, count],
    ...loop.inputs.map(({ name }) => inputs[name]!),
    ...loop.carried.map(({ name }) => carried[name]!),
    ...loop.arrays.map(({ name }) => lengths[name]!),
  ];
  return values.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join();
}
