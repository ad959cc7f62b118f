/** Enumerated loops on the GPU: every engine against sequential execution. */
import { describe, expect, it } from "vitest";
import { PublishedEngine } from "../../src/speculation/published.ts";
import { testDevices } from "../testDevices.ts";
import { type AbstractLoop, runInOrder } from "./abstractLoops.ts";
import { encode, encodedLoop } from "./encodedLoop.ts";
import { dependentIterations, fixedIterations, loopsOf } from "./enumerations.ts";
import { runOnGpu } from "./runOnGpu.ts";

const devices = testDevices();

/** Every `step`th of the loops. */
function sample(loops: Iterable<AbstractLoop>, step: number): AbstractLoop[] {
  return [...loops].filter((_, n) => n % step === 0);
}

const fixed = () => loopsOf(fixedIterations(3), { count: 4, elements: 3, renamed: true });
const dependent = () => loopsOf(dependentIterations(3), { count: 3, elements: 3 });

describe("the published engine", () => {
  it.each([
    ["fixed addresses", true, () => sample(fixed(), 211)],
    ["addresses that depend on the values", false, () => sample(dependent(), 97)],
  ])("runs loops with %s as in sequence", async (_, addressesAreFixed, choose) => {
    const loops = choose();
    const { arrays, count } = encode(loops);
    const loop = encodedLoop(3, addressesAreFixed);
    const device = await devices.newDevice();
    const start = performance.now();
    const { outcome, results } = await runOnGpu(device, loop, arrays, count, (execution) =>
      new PublishedEngine(device, loop).run(execution),
    );
    console.log(loops.length, outcome, performance.now() - start);
    const expected = loops.flatMap((each) => runInOrder(each).values);
    const wrong = loops.filter((_, l) =>
      [0, 1, 2].some((e) => (results.values as Int32Array)[3 * l + e] !== expected[3 * l + e]),
    );
    console.log(wrong.length, JSON.stringify(wrong[0]));
    expect(wrong).toEqual([]);
  });
});
