import type { Outputs } from "./workload.ts";

/** The first difference between the outputs of two runs. */
export interface OutputDifference {
  readonly output: string;
  readonly index: number;
  readonly expected: string;
  readonly actual: string;
  /** The number of elements that differ in all outputs. */
  readonly count: number;
  /**
   * The largest difference of two floats; infinite if others differ, or one is no finite number.
   */
  readonly largest: number;
}

/** Describes the first element that differs. */
export const describeDifference = ({ output, index, expected, actual }: OutputDifference): string =>
  `${output}[${index}] is ${actual} instead of ${expected}`;

/**
 * Returns the first element that differs, with the number of all that do. Returns undefined if none
 * differs.
 */
export function findDifference(expected: Outputs, actual: Outputs): OutputDifference | undefined {
  let first: Omit<OutputDifference, "count" | "largest"> | undefined;
  let count = 0;
  let largest = 0;
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const [before, after] = [expected[name], actual[name]];
    if (before && after && bytesOf(before).equals(bytesOf(after))) continue;
    const [a, b] = [elementsOf(before), elementsOf(after)];
    for (let index = 0; index < Math.max(a.length, b.length); index++) {
      if (Object.is(a[index], b[index])) continue;
      count++;
      largest = Math.max(largest, distance(before, after, index));
      first ??= { output: name, index, expected: String(a[index]), actual: String(b[index]) };
    }
    // Only the bits of a NaN differ, not its value.
    if (!first) largest = Number.POSITIVE_INFINITY;
    if (!first) first = { output: name, index: 0, expected: "a NaN", actual: "another NaN" };
    count ||= 1;
  }
  return first && { ...first, count, largest };
}

function distance(
  before: ArrayBufferView | undefined,
  after: ArrayBufferView | undefined,
  index: number,
): number {
  const areFloats = before instanceof Float32Array && after instanceof Float32Array;
  const difference = areFloats ? Math.abs(before[index]! - after[index]!) : Number.NaN;
  return Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
}

const bytesOf = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

function elementsOf(view: ArrayBufferView | undefined): ArrayLike<number | bigint> {
  if (!view) return [];
  return view instanceof DataView ? bytesOf(view) : (view as Uint32Array);
}
