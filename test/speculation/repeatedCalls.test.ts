/** Calls that the CPU executes at once, as it executed the ones before. */

import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { speculate, useDevice } from "belay-speculate/internal/engine/speculate";
import { ResidentArray } from "belay-speculate/internal/engine/transfer/resident";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import { afterEach, describe, expect, it, vi } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const n = 100;
afterEach(() => vi.restoreAllMocks());

/**
 * Returns a loop that nobody has executed. Its sum is `f32` if the CPU should round in another way
 * than a GPU may.
 */
async function newProgram(element: "Int32" | "Float32", afterwards: (from: number) => void = () => {}) {
  const device = await devices.newDevice();
  // Measuring it seems to take a second.
  Workspace.of(device).costs = Promise.resolve({
    launch: 1000,
    uploadedByte: 0,
    downloadedByte: 0,
    compile: 0,
  });
  const add = element === "Int32" ? "(a[i]! + last) | 0" : "a[i]! + 0.5";
  const loop = loopFrom(
    `a: ${element}Array, last: number`,
    `for (let i = 0; i < a.length; i++) { a[i] = ${add}; last = (last + 1) | 0; }`,
    "speculate(a)",
  );
  const sequential = sequentialLoop(loop);
  const late: typeof sequential = (...given) => {
    const reached = sequential(...given);
    afterwards(given[4]);
    return reached;
  };
  const call = (a: SpeculateCall["arrays"][string], count = n): SpeculateCall => ({
    loop,
    sequential: late,
    arrays: { a },
    inputs: {},
    carried: { last: 3 },
    reductions: {},
    first: 0,
    step: 1,
    count,
  });
  /** Returns true if a call is executed before anybody waits for it. */
  const isAtOnce = async (given: SpeculateCall) => {
    const { a } = given.arrays;
    const host = a instanceof ResidentArray ? a.host : a!;
    const before = host[n - 1];
    const result = speculate(given, { device });
    const atOnce = host[n - 1] !== before;
    await result;
    return atOnce;
  };
  const repeat = async (times: number) => {
    for (let k = 0; k < times; k++) await speculate(call(array()), { device });
  };
  const array = () => (element === "Int32" ? numbers(n, (i) => i) : new Float32Array(n));
  return { device, call, array, isAtOnce, repeat };
}

describe("a loop that the CPU executes", () => {
  it.each(["Int32", "Float32"] as const)(
    "is executed at once from then on, %s, and placed again now and then",
    async (element) => {
      let clock = 0;
      vi.spyOn(performance, "now").mockImplementation(() => (clock += 1e-3));
      const { call, array, isAtOnce, repeat } = await newProgram(element, () => (clock += 0.2));
      await repeat(8);
      const calls: boolean[] = [];
      for (let k = 0; k < 130; k++) calls.push(await isAtOnce(call(array())));
      expect(calls.filter((atOnce) => !atOnce).length).toBe(2);
    },
  );

  it("is placed again with other numbers of iterations or elements, and arrays that a device has", async () => {
    const { device, call, array, isAtOnce, repeat } = await newProgram("Float32");
    await repeat(2);
    expect(await isAtOnce(call(array()))).toBe(true);
    expect(await isAtOnce(call(array(), n - 1))).toBe(false);
    await repeat(1);
    expect(await isAtOnce(call(new Float32Array(n + 1)))).toBe(false);
    await repeat(1);
    expect(await isAtOnce(call(new ResidentArray(array())))).toBe(false);

    const memory = new ArrayBuffer(8 * n);
    const copied = new ResidentArray(new Float32Array(memory, 4));
    await speculate(call(copied), { device, fallback: "never" });
    await repeat(1);
    const view = new Float32Array(memory, 0, n);
    expect(await isAtOnce(call(view))).toBe(false);
    // Changes by the device through the other view came first.
    expect([...view]).toEqual([0.5, ...new Array(n - 1).fill(1)]);
    copied.release();
  });

  it("is executed at once on arrays that stay on a device, as long as the host has them", async () => {
    const { device, call, array, isAtOnce } = await newProgram("Float32");
    const kept = new ResidentArray(array());
    await speculate(call(kept), { device });
    expect(await isAtOnce(call(kept))).toBe(true);
    await speculate(call(kept), { device, fallback: "never" });
    expect(await isAtOnce(call(kept))).toBe(false);
    expect(await isAtOnce(call(kept))).toBe(true);
    // The device's copy is older now, and is sent anew.
    await speculate(call(kept), { device, fallback: "never" });
    expect([...(await kept.read())]).toEqual(new Array(n).fill(3));
    kept.release();
  });

  it("waits for calls before it", async () => {
    const { device, call, array, isAtOnce, repeat } = await newProgram("Float32");
    await repeat(1);
    const a = array();
    const before = speculate(call(a), { device, fallback: "never" });
    expect(await isAtOnce(call(a))).toBe(false);
    await before;
    expect(a[0]).toBe(1);
  });
});

it("places a call again in between if it takes longer than before", async () => {
  let [clock, each, beginnings] = [0, 0.05, 0];
  vi.spyOn(performance, "now").mockImplementation(() => (clock += 1e-3));
  const { device, call, array, repeat } = await newProgram("Int32", (from) => {
    clock += each;
    if (from === 0) beginnings++;
  });
  await repeat(30);
  [each, beginnings] = [10, 0];
  const a = array();
  const told: number[] = [];
  useDevice(null, { onExecuted: (_, { committed }) => told.push(committed) });
  const result = await speculate(call(a), { device });
  expect(told).toEqual([n]);
  expect(beginnings).toBe(2);
  expect(result.statistics).toMatchObject({ committed: n, onCpu: n });
  expect(result).toMatchObject({ next: n, carried: { last: n + 3 }, ended: false });
  expect([...a]).toEqual([...numbers(n, (i) => i + i + 3)]);
});
