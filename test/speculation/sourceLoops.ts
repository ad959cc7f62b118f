/** Loops from their source, run as speculation runs them and as JavaScript does. */

import type { ExecutionOptions, Speculated } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { ResidentArray } from "belay-speculate/internal/engine/transfer/resident";
import {
  type LoopData,
  type SequentialLoop,
  sequentialLoop,
} from "belay-speculate/internal/loops/javascript/sequential";
import { translate } from "belay-speculate/internal/loops/translate";
import type { Loop } from "belay-speculate/internal/loops/tree/ir";
import { expect } from "vitest";

/**
 * Returns a loop `for (let i = …)` in a function with these parameters. `clauses` are those of its
 * directive.
 */
export function loopFrom(parameters: string, source: string, clauses = ""): Loop {
  const text = `export async function test(${parameters}) {
  "use speculate";
  //#pragma omp for target(webgpu) precision(f32) ${clauses}
  ${source}
}`;
  const { loops, diagnostics } = translate(text, "test.ts");
  expect(diagnostics.flatMap(({ severity, message }) => (severity === "error" ? [message] : []))).toEqual([]);
  return loops[0]!.loop;
}

export interface Given {
  readonly arrays: Readonly<Record<string, LoopData | ResidentArray>>;
  readonly inputs?: Readonly<Record<string, number>>;
  readonly carried?: Readonly<Record<string, number>>;
  readonly reductions?: Readonly<Record<string, number>>;
  readonly count: number;
  readonly sequential?: SequentialLoop;
}

/** Speculates, and expects the arrays and variables that the loop in order leaves. */
export async function expectSequential(
  loop: Loop,
  given: Given,
  options: ExecutionOptions,
): Promise<Speculated> {
  const { arrays, inputs = {}, carried = {}, reductions = {}, count } = given;
  const sequential = sequentialLoop(loop);
  const hosts = Object.entries(arrays).map(
    ([name, array]) => [name, array instanceof ResidentArray ? array.host : array] as const,
  );
  const expected = {
    arrays: Object.fromEntries(hosts.map(([name, array]) => [name, array.slice()])),
    carried: { ...carried },
    reductions: { ...reductions },
  };
  const end = sequential(
    expected.arrays,
    { ...inputs, $first: 0, $step: 1 },
    expected.carried,
    expected.reductions,
    0,
    count,
  );
  const result = await speculate(
    {
      loop,
      sequential: given.sequential ?? sequential,
      arrays,
      inputs,
      carried,
      reductions,
      first: 0,
      step: 1,
      count,
    },
    { fallback: "never", ...options },
  );
  expect(result.statistics.reason).not.toContain("refused a kernel");
  for (const array of Object.values(arrays)) if (array instanceof ResidentArray) await array.read();
  const { next, ended } = result;
  // Bytes are compared first, because a matcher takes seconds for long arrays.
  const other = hosts.filter(([name, array]) => !haveSameBytes(array, expected.arrays[name]!));
  const left = { carried: result.carried, reductions: result.reductions, next, ended };
  const { carried: expectedCarried, reductions: expectedReductions } = expected;
  expect({ ...left, arrays: Object.fromEntries(other) }).toEqual({
    carried: expectedCarried,
    reductions: expectedReductions,
    next: end.next,
    ended: end.ended,
    arrays: Object.fromEntries(other.map(([name]) => [name, expected.arrays[name]])),
  });
  return result;
}

function haveSameBytes(one: LoopData, other: LoopData): boolean {
  const bytes = ({ buffer, byteOffset, byteLength }: LoopData) => Buffer.from(buffer, byteOffset, byteLength);
  return one.constructor === other.constructor && bytes(one).equals(bytes(other));
}

/** Returns so many numbers, computed from their places. */
export const numbers = (count: number, of: (place: number) => number) =>
  Int32Array.from({ length: count }, (_, i) => of(i));
