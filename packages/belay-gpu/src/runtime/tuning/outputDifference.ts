import type { Outputs } from "./workload.ts";

/** Where the outputs of two runs differ. */
export interface OutputDifference {
  readonly output: string;
  readonly index: number;
  readonly expected: string;
  readonly actual: string;
  /** Elements that differ, of all outputs. */
  readonly count: number;
}

/** The first element that differs, in words. */
export const describeDifference = ({ output, index, expected, actual }: OutputDifference): string =>
  `${output}[${index}] is ${actual} instead of ${expected}`;

/** The first element that differs, and how many do. */
export function findDifference(expected: Outputs, actual: Outputs): OutputDifference | undefined {
  let first: Omit<OutputDifference, "count"> | undefined;
  let count = 0;
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const [before, after] = [expected[name], actual[name]];
    if (before && after && bytesOf(before).equals(bytesOf(after))) continue;
    const [a, b] = [elementsOf(before), elementsOf(after)];
    for (let index = 0; index < Math.max(a.length, b.length); index++) {
      if (Object.is(a[index], b[index])) continue;
      count++;
      first ??= { output: name, index, expected: String(a[index]), actual: String(b[index]) };
    }
    // Bits of a NaN differ where values do not.
    if (!first) first = { output: name, index: 0, expected: "a NaN", actual: "another NaN" };
    count ||= 1;
  }
  return first && { ...first, count };
}

const bytesOf = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

function elementsOf(view: ArrayBufferView | undefined): ArrayLike<number | bigint> {
  if (!view) return [];
  return view instanceof DataView ? bytesOf(view) : (view as Uint32Array);
}
