import type { Loop } from "../loops/ir.ts";
import { addressLoop, followsFromNumbers } from "../loops/kernels/addresses.ts";
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
export function recallWindows(part: Part): readonly number[] | null {
  return known.get(part.loop)?.get(numbersOf(part)) ?? null;
}

/** Whether windows that are found for these iterations are good for another execution. */
export function canKeepWindows({ loop }: Part): boolean {
  const addresses = addressLoop(loop);
  return addresses !== null && followsFromNumbers(addresses);
}

/** Keeps the windows that were found for all of these iterations. */
export function rememberWindows(part: Part, windows: readonly number[]): void {
  const all = known.get(part.loop) ?? new Map<string, readonly number[]>();
  known.set(part.loop, all);
  all.set(numbersOf(part), windows);
  if (all.size > mostKept) all.delete(all.keys().next().value!);
}

/** Everything that the addresses of the iterations may follow from. */
function numbersOf({ loop, inputs, lengths, first, step, count }: Part): string {
  const values = [
    ...[first, step, count],
    ...loop.inputs.map(({ name }) => inputs[name]!),
    ...loop.arrays.map(({ name }) => lengths[name]!),
  ];
  return values.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join();
}
