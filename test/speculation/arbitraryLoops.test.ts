/** Random loops on hostile indices: what speculation leaves is what the loop in order leaves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sequentialLoop } from "../../src/loops/sequential.ts";
import { type SpeculateOptions, speculate } from "../../src/speculation/speculate.ts";
import { testDevices } from "../testDevices.ts";
import { arbitraryArrays, arbitraryLoop, initialValues } from "./arbitraryLoops.ts";

const devices = testDevices();
/** `ARBITRARY_LOOPS=1000` for a long search. */
const numRuns = Number(process.env.ARBITRARY_LOOPS ?? 5);

const engines: Readonly<Record<string, SpeculateOptions>> = {
  default: {},
  published: { engine: "published" },
  "published in single rounds": { engine: "published", published: { scheduling: false } },
  "published without localization": { engine: "published", published: { localization: false } },
};

describe("random loops", () => {
  it("run as in sequence in every engine", async () => {
    const device = await devices.newDevice();
    const property = fc.asyncProperty(arbitraryLoop, arbitraryArrays, async (loop, indices) => {
      const sequential = sequentialLoop(loop);
      const count = indices.p.length;
      const given = () => ({ a: initialValues(loop), carried: { last: 3 }, reductions: { sum: 10 } });
      const { a, carried, reductions } = given();
      const inputs = { $first: 0, $step: 1 };
      const end = sequential({ a, ...indices }, inputs, carried, reductions, 0, count);
      for (const [engine, options] of Object.entries(engines)) {
        const own = given();
        const arrays = { a: own.a, ...indices };
        const call = { ...own, loop, sequential, arrays, inputs: {}, first: 0, step: 1, count };
        const { next, ended, ...after } = await speculate(call, { device, fallback: "never", ...options });
        const left = { carried: after.carried, reductions: after.reductions };
        expect({ engine, a: own.a, ...left, next, ended }).toEqual({
          engine,
          a,
          carried,
          reductions,
          ...end,
        });
      }
    });
    await fc.assert(property, { numRuns, seed: 7 });
  }, 600_000);
});
