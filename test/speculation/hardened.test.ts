/**
 * Speculation on a hardened device: misspeculation and faults are each caught by their own check.
 */

import { harden } from "belay-gpu";
import { publishedEngine } from "belay-research/internal/published/published";
import type { ExecutionOptions } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { type AbstractLoop, runInOrder } from "./abstractLoops.ts";
import { encode, encodedLoop } from "./encodedLoop.ts";
import { dependentIterations, loopsOf } from "./enumerations.ts";

const devices = testDevices({ full: true });
const loop = encodedLoop(3, false);
const loops: AbstractLoop[] = [...loopsOf(dependentIterations(3), { count: 3, elements: 3 })].filter(
  (_, n) => n % 2999 === 0,
);
const expected = loops.flatMap((each) => runInOrder(each).values);

/** The contents of the array after the loop. */
async function run(device: GPUDevice, options: ExecutionOptions): Promise<number[]> {
  const { arrays, count } = encode(loops);
  const variables = { inputs: {}, carried: {}, reductions: {}, first: 0, step: 1 };
  const sequential = () => {
    throw new Error("an iteration was left to the CPU");
  };
  await speculate(
    { loop, sequential, arrays, ...variables, count },
    { device, fallback: "never", ...options },
  );
  return [...arrays.values!];
}

describe.each<[string, ExecutionOptions]>([
  ["default", {}],
  ["published", { engine: publishedEngine({ scheduling: false }) }],
])("the %s engine on a hardened device", (_, options) => {
  it("gives the same result, with faults and without", async () => {
    const device = await harden(await devices.newDevice(), { redundancy: "intra+lds", injectFaults: true });
    expect(await run(device, options)).toEqual(expected);
    const { kernels, faults } = await device.belay.report();
    expect(new Set(kernels.map(({ redundancy }) => redundancy))).toEqual(new Set(["intra+lds"]));
    expect(faults).toEqual([]);

    let strikes = 0;
    for (const { kernel, sites } of device.belay.faultSites()) {
      const values = sites.filter(({ kind }) => kind === "value");
      const site = values[Math.floor(values.length / 2)]!.id;
      device.belay.arm({
        kernel,
        site,
        replica: 1,
        effect: { xor: 1 << 3 },
        workgroup: [0, 0, 0],
        // An iteration that accesses an element.
        localIndex: 17,
      });
      expect(await run(device, options)).toEqual(expected);
      strikes += await device.belay.strikes();
    }
    const after = await device.belay.report();
    expect(strikes).toBeGreaterThan(0);
    expect(after.faults.some(({ outcome }) => outcome === "recovered")).toBe(true);
    expect(after.giveUps).toBe(0);
  });
});
