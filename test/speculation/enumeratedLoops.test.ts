/** Enumerated loops on the GPU: every engine against sequential execution. */

import { publishedEngine } from "belay-research/internal/published/published";
import type { Engine, ExecutionOptions } from "belay-speculate/internal/engine/call/call";
import { runDefault } from "belay-speculate/internal/engine/rounds/defaultEngine";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { type AbstractLoop, runInOrder } from "./abstractLoops.ts";
import { changeKernels } from "./changedKernels.ts";
import { encode, encodedLoop } from "./encodedLoop.ts";
import { dependentIterations, fixedIterations, loopsOf } from "./enumerations.ts";

const devices = testDevices();

/** The loops at every `step`th place. */
function sample(loops: Iterable<AbstractLoop>, step: number): AbstractLoop[] {
  return [...loops].filter((_, n) => n % step === 0);
}

const enumerations = {
  /** Of 748,291 loops of four iterations. */
  fixed: () => sample(loopsOf(fixedIterations(3), { count: 4, elements: 3, renamed: true }), 997),
  /** Of 262,144 loops of three iterations. */
  dependent: () => sample(loopsOf(dependentIterations(3), { count: 3, elements: 3 }), 359),
};
const chosen = new Map<keyof typeof enumerations, AbstractLoop[]>();

/** Returns the sampled loops that an engine executes wrongly. All of them run as one loop. */
async function wrongLoops(
  name: keyof typeof enumerations,
  options: ExecutionOptions,
  iterationsPerRound: number | null = null,
): Promise<AbstractLoop[]> {
  const loops = chosen.get(name) ?? enumerations[name]();
  chosen.set(name, loops);
  expect(loops.length).toBeGreaterThan(700);
  const { arrays, count } = encode(loops);
  const variables = { inputs: {}, carried: {}, reductions: {} };
  const sequential = () => {
    throw new Error("an iteration was left to the CPU");
  };
  const device = options.device ?? (await devices.sharedDevice());
  const loop = { ...encodedLoop(3, name === "fixed"), schedule: { iterationsPerRound } };
  await speculate(
    { loop, sequential, arrays, ...variables, first: 0, step: 1, count },
    { fallback: "never", ...options, device },
  );
  return loops.filter((loop, n) =>
    runInOrder(loop).values.some((value, e) => arrays.values![3 * n + e] !== value),
  );
}

const published = (left: Parameters<typeof publishedEngine>[0]): ExecutionOptions => ({
  engine: publishedEngine(left),
});

describe.each(["fixed", "dependent"] as const)("loops with %s addresses run as in sequence", (name) => {
  it("in the default engine", async () => {
    expect(await wrongLoops(name, {})).toEqual([]);
  });

  it.each([
    ["the published engine", published({})],
    ["the published engine without its scheduling", published({ scheduling: false })],
    [
      "the published engine without its copy optimization",
      published({ scheduling: false, copyOptimization: false }),
    ],
  ])("in %s", async (_, options) => {
    expect(await wrongLoops(name, options)).toEqual([]);
  });
});

describe.each(["in place", "by reservation", "logged"] as const)("loops run as in sequence %s", (plan) => {
  it.each([20])("in rounds of %s", async (iterations) => {
    const engine: Engine = (workspace, execution) => runDefault(workspace, execution, { plan });
    expect(await wrongLoops("fixed", { engine }, iterations)).toEqual([]);
  });
});

describe.each(["fixed", "dependent"] as const)(
  "loops with %s addresses run as in sequence by multi-versioning",
  (name) => {
    it.each([20, 100])("in rounds of %s", async (iterations) => {
      const engine: Engine = (workspace, execution) =>
        runDefault(workspace, execution, { plan: "multi-version" });
      expect(await wrongLoops(name, { engine }, iterations)).toEqual([]);
    });
  },
);

describe("the published engine", () => {
  it.each([
    ["marks nobody", "fixed", "if (contended) {", "if (false) {"],
    [
      "lets what runs again see later writes",
      "dependent",
      "slot == NONE || rank_of(slot) > rank",
      "slot == NONE",
    ],
    ["does not mark what recovery makes wrong", "dependent", "atomicStore(&state[STATE_WRONGED], 1u);", ""],
  ] as const)("is wrong when it %s", async (_, name, find, put) => {
    const device = await devices.sharedDevice();
    const changed = changeKernels(device, find, put);
    const wrong = await wrongLoops(name, { ...published({ scheduling: false }), device });
    expect(changed()).toBeGreaterThan(0);
    expect(wrong.length).toBeGreaterThan(0);
  });
});
