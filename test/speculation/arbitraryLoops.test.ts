/** Random loops on hostile indices: what speculation leaves is what the loop in order leaves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SpeculateOptions, speculate } from "../../src/speculation/speculate.ts";
import { testDevices } from "../testDevices.ts";
import { arbitraryArrays, arbitraryLoop, initialValues } from "./arbitraryLoops.ts";
import { sequentialOf } from "./sequentialReference.ts";

const devices = testDevices();
/** `ARBITRARY_LOOPS=1000` for a long search. */
const numRuns = Number(process.env.ARBITRARY_LOOPS ?? 8);

describe("random loops run as in sequence", () => {
  it.each<[string, SpeculateOptions]>([
    ["the published engine", { engine: "published" }],
    ["the published engine in single rounds", { engine: "published", published: { scheduling: false } }],
    [
      "the published engine without localization",
      { engine: "published", published: { localization: false } },
    ],
  ])(
    "in %s",
    async (_, options) => {
      const device = await devices.newDevice();
      const property = fc.asyncProperty(arbitraryLoop, arbitraryArrays, async (loop, indices) => {
        const sequential = sequentialOf(loop);
        const count = indices.p.length;
        const variables = { inputs: {}, carried: { last: 3 }, reductions: { sum: 10 } };
        const expected = { a: initialValues(loop), carried: { last: 3 }, reductions: { sum: 10 } };
        const { next, ended } = sequential(
          { a: expected.a, ...indices },
          { $first: 0, $step: 1 },
          expected.carried,
          expected.reductions,
          0,
          count,
        );
        const a = initialValues(loop);
        const call = { loop, sequential, arrays: { a, ...indices }, ...variables, first: 0, step: 1, count };
        const result = await speculate(call, { device, fallback: "never", ...options });
        const { carried, reductions } = result;
        expect({ a, carried, reductions, next: result.next, ended: result.ended }).toEqual({
          ...expected,
          next,
          ended,
        });
      });
      await fc.assert(property, { numRuns, seed: 7 });
    },
    600_000,
  );
});
