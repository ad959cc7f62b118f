/**
 * Arrays that a loop overwrites completely and never loads from, which need not be sent to the
 * device.
 */

import type { Engine } from "belay-speculate/internal/engine/call/call";
import { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { runDefault } from "belay-speculate/internal/engine/rounds/defaultEngine";
import { numbersOf } from "belay-speculate/internal/engine/rounds/execution";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { ResidentArray } from "belay-speculate/internal/engine/transfer/resident";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const n = 100;
const parameters = "out: Uint8Array, a: Int32Array, gap: number";

/** Returns the bytes sent in each of three executions of a loop, on other data each time. */
async function sent(source: string, length: number): Promise<number[]> {
  const loop = loopFrom(parameters, source, "speculate(out)");
  const device = await devices.sharedDevice();
  const bytes: number[] = [];
  for (let execution = 1; execution <= 3; execution++) {
    const arrays = { out: new Uint8Array(length).fill(200 + execution), a: numbers(n, (i) => i * execution) };
    const carried = Object.fromEntries(loop.carried.map(({ name }) => [name, 0]));
    const inputs = Object.fromEntries(loop.inputs.map(({ name }) => [name, 0]));
    const { statistics } = await expectSequential(loop, { arrays, carried, inputs, count: n }, { device });
    bytes.push(statistics.bytes.uploaded);
  }
  return bytes;
}

const appended =
  "for (let i = 0; i < a.length; i++) { if ((i & (i - 1)) === 0) { out[(i + gap) | 0] = 255; gap = (gap + 1) | 0; } out[(i + gap) | 0] = a[i]!; }";
const halved = "for (let i = 0; i < a.length; i++) { out[2 * i] = a[i]!; }";

describe("an array that a loop overwrites", () => {
  it.each([
    ["at fixed distances", "for (let i = 0; i < a.length; i++) { out[99 - i] = a[i]!; }", n],
    ["at distances that grow", appended, n + 8],
    [
      "in inner loops",
      "for (let i = 0; i < a.length; i++) { for (let k = 0; k < 7; k++) { out[7 * i + k] = a[i]!; } }",
      7 * n,
    ],
  ])("is not sent once this is known, %s", async (_, source, length) => {
    expect(await sent(source, length)).toEqual([length + 4 * n, length + 4 * n, 4 * n]);
  });

  it.each([
    ["leaves elements out", halved, 2 * n],
    ["leaves the last element out", "for (let i = 0; i < a.length; i++) { out[i] = a[i]!; }", n + 1],
    ["stores at indices from elements", "for (let i = 0; i < a.length; i++) { out[a[i]! % 100] = i; }", n],
    [
      "stores under conditions on elements",
      "for (let i = 0; i < a.length; i++) { if (a[i]! > 1) { out[i] = i; } }",
      n,
    ],
    ["loads from it", "for (let i = 0; i < a.length; i++) { out[i] = out[i]! + a[i]!; }", n],
  ])("is sent if the loop %s", async (_, source, length) => {
    expect(await sent(source, length)).toEqual(new Array(3).fill(length + 4 * n));
  });

  it("is sent if the CPU has begun, and if it stays on the device", async () => {
    const loop = loopFrom(
      parameters,
      "for (let i = 0; i < a.length; i++) { out[i] = a[i]!; }",
      "speculate(out)",
    );
    const device = await devices.sharedDevice();
    const arrays = () => ({ out: new Uint8Array(n).fill(77), a: numbers(n, (i) => i) });
    for (let k = 0; k < 2; k++) await expectSequential(loop, { arrays: arrays(), count: n }, { device });
    const given = { ...arrays(), out: new ResidentArray(new Uint8Array(n).fill(77)) };
    const kept = await expectSequential(loop, { arrays: given, count: n }, { device });
    expect(kept.statistics.bytes.uploaded).toBe(5 * n);
    given.out.release();

    // Changes the array before the device gets its first iterations.
    const { out, a } = arrays();
    const begin: Engine = async (workspace, execution) => {
      await execution.onCpu(0, 10);
      const rest = { ...execution, first: 10, count: n - 10 };
      const outcome = await runDefault(workspace, rest);
      return { ...outcome, executed: n };
    };
    const call = {
      loop,
      sequential: sequentialLoop(loop),
      arrays: { out, a },
      inputs: {},
      carried: {},
      reductions: {},
    };
    await speculate({ ...call, first: 0, step: 1, count: n }, { device, engine: begin });
    expect([...out]).toEqual([...a]);
  });
});

describe("a rule left out", () => {
  it("gives wrong results: that every element has been stored to", async () => {
    const loop = loopFrom(parameters, halved, "speculate(out)");
    const device = await devices.sharedDevice();
    const arrays = { out: new Uint8Array(2 * n).fill(200), a: numbers(n, (i) => i) };
    const lengths = { out: 2 * n, a: n };
    const known = numbersOf({ loop, inputs: { gap: 0 }, carried: {}, lengths, first: 0, step: 1, count: n })!;
    Workspace.of(device).profileOf(loop).overwritten.set(known, ["out"]);
    const inputs = Object.fromEntries(loop.inputs.map(({ name }) => [name, 0]));
    await expect(expectSequential(loop, { arrays, inputs, count: n }, { device })).rejects.toThrow(
      "to deeply equal",
    );
  });
});
