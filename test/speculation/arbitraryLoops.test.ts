/** Random loops on hostile indices leave the same results as the loop in order. */
import { publishedEngine } from "belay-research/internal/published/published";
import type { Engine, ExecutionOptions } from "belay-speculate/internal/engine/call/call";
import { runDefault } from "belay-speculate/internal/engine/rounds/defaultEngine";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { arbitraryArrays, arbitraryLoop, initialValues } from "./arbitraryLoops.ts";

const devices = testDevices({ full: true });
/** `ARBITRARY_LOOPS=1000` runs a long search. */
const numRuns = Number(process.env.ARBITRARY_LOOPS ?? 5);

/** The default engine with multi-versioning from the beginning. */
const multiVersion: Engine = (workspace, execution) =>
  runDefault(workspace, execution, { plan: "multi-version" });

const engines: Readonly<Record<string, ExecutionOptions>> = {
  default: {},
  multiVersion: { engine: multiVersion },
  "default, as it ended": {},
  published: { engine: publishedEngine() },
  "published in single rounds": { engine: publishedEngine({ scheduling: false }) },
  "published without localization": { engine: publishedEngine({ localization: false }) },
};

describe("random loops", () => {
  it("run as in sequence in every engine", async () => {
    const device = await devices.newDevice();
    const property = fc.asyncProperty(arbitraryLoop, arbitraryArrays, async (loop, indices) => {
      const sequential = sequentialLoop(loop);
      const count = indices.p.length;
      const given = () => ({
        a: initialValues(loop),
        own: Int32Array.from(indices.p, (_, i) => 3 * i),
        carried: { last: 3 },
        reductions: { sum: 10 },
      });
      const { a, own, carried, reductions } = given();
      const inputs = { $first: 0, $step: 1 };
      const end = sequential({ a, own, ...indices }, inputs, carried, reductions, 0, count);
      for (const [engine, options] of Object.entries(engines)) {
        const { a: changed, own: owned, ...variables } = given();
        const arrays = { a: changed, own: owned, ...indices };
        const call = { ...variables, loop, sequential, arrays, inputs: {}, first: 0, step: 1, count };
        const { next, ended, statistics, ...after } = await speculate(call, {
          device,
          fallback: "never",
          ...options,
        });
        const left = { carried: after.carried, reductions: after.reductions };
        const expectedEngine = options.engine ?? "default";
        expect(statistics.engine).toBe(
          typeof expectedEngine === "function" ? expectedEngine.name : expectedEngine,
        );
        expect({ engine, a: changed, own: owned, ...left, next, ended }).toEqual({
          engine,
          a,
          own,
          carried,
          reductions,
          ...end,
        });
      }
    });
    await fc.assert(property, { numRuns, seed: 7 });
  });
});
