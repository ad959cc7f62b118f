/** The default engine on random loops with hostile indices: what it leaves is what the loop in order leaves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sequentialLoop } from "../../src/loops/sequential.ts";
import { speculate } from "../../src/speculation/speculate.ts";
import { testDevices } from "../testDevices.ts";
import { arbitraryArrays, arbitraryLoop, initialValues } from "./arbitraryLoops.ts";

const devices = testDevices();
const numRuns = Number(process.env.ARBITRARY_LOOPS ?? 8);

describe("random loops", () => {
  it.each(["never", "measured"] as const)(
    "run as in sequence, with fallback %s",
    async (fallback) => {
      const device = await devices.newDevice();
      const property = fc.asyncProperty(
        arbitraryLoop,
        arbitraryArrays,
        fc.constantFrom(null, 1, 7),
        async (given, indices, iterationsPerRound) => {
          const loop = { ...given, schedule: { iterationsPerRound } };
          const sequential = sequentialLoop(loop);
          const count = indices.p.length;
          const variables = { inputs: {}, carried: { last: 3 }, reductions: { sum: 10 } };
          const expected = { a: initialValues(loop), carried: { last: 3 }, reductions: { sum: 10 } };
          const order = sequential(
            { a: expected.a, ...indices },
            { $first: 0, $step: 1 },
            expected.carried,
            expected.reductions,
            0,
            count,
          );
          const a = initialValues(loop);
          const call = {
            loop,
            sequential,
            arrays: { a, ...indices },
            ...variables,
            first: 0,
            step: 1,
            count,
          };
          const { carried, reductions, next, ended } = await speculate(call, { device, fallback });
          expect({ a, carried, reductions, next, ended }).toEqual({ ...expected, ...order });
        },
      );
      await fc.assert(property, { numRuns, seed: 7 });
    },
    600_000,
  );
});
