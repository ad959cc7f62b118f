/** Variables that iterations carry, and addresses that follow from them. */

import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { changeKernels } from "./changedKernels.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const n = 200;

/** Stores after a gap that grows now and then, like a buffer that gets a new segment. */
const appended = loopFrom(
  "a: Int32Array, p: Int32Array, gap: number",
  "for (let i = 0; i < p.length; i++) { if (p[i]! === 0) { gap = ((gap | 0) + 17) | 0; a[(i + gap) | 0] = -gap; gap = (gap + 1) | 0; } a[(i + gap) | 0] = (a[i]! + i) | 0; }",
  "speculate(a)",
);
const given = (isGap: (i: number) => boolean, gap = 3) => ({
  arrays: { a: numbers(30 * n, (i) => i * i), p: numbers(n, (i) => (isGap(i) ? 0 : 1)) },
  carried: Object.fromEntries(appended.carried.map(({ name }) => [name, gap])),
  count: n,
});

describe("variables that addresses follow from", () => {
  it.each([
    ["never change", () => false, 1000],
    ["change in the first and the last iteration", (i: number) => i === 0 || i === n - 1, 1000],
    ["change now and then", (i: number) => i % 37 === 5, 1000],
    ["change more and more rarely", (i: number) => Number.isInteger(Math.log2(i)), 1000],
    ["change in every iteration", () => true, 1000],
    ["change while iterations depend on each other", (i: number) => i % 37 === 5, 3],
  ])("are right when they %s", async (_, isGap, gap) => {
    const device = await devices.sharedDevice();
    const execution = given(isGap, gap === 1000 ? n : gap);
    const { statistics } = await expectSequential(appended, execution, { device });
    expect(statistics.plans[0]).toBe("in place");
  });

  it("are predicted, so that iterations between two changes are executed at once", async () => {
    const device = await devices.sharedDevice();
    const { statistics } = await expectSequential(
      appended,
      given((i) => i % 50 === 20, n),
      { device },
    );
    expect(statistics.plans).toEqual(["in place"]);
    expect(statistics.rounds).toBeLessThan(10);
  });

  it("are not predicted if they follow from elements that the loop writes", async () => {
    const summed = loopFrom(
      "a: Int32Array, sum: number",
      "for (let i = 0; i < 100; i++) { sum = ((sum | 0) + a[i]!) | 0; a[sum & 63] = i; }",
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    const carried = Object.fromEntries(summed.carried.map(({ name }) => [name, 1]));
    const execution = { arrays: { a: numbers(100, (i) => i) }, carried, count: 100 };
    const { statistics } = await expectSequential(summed, execution, { device });
    expect(statistics.plans).toEqual(["logged", "multi-version"]);
  });

  it("are compared before windows of an earlier execution are reused", async () => {
    const counted = loopFrom(
      "a: Int32Array, gap: number",
      "for (let i = 0; i < 1000; i++) { if (i === 20) { gap = ((gap | 0) + 7) | 0; } a[(i + gap) | 0] = (a[i]! + i) | 0; }",
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    const plans: string[] = [];
    for (const gap of [n, n, 9]) {
      const carried = Object.fromEntries(counted.carried.map(({ name }) => [name, gap]));
      const execution = { arrays: { a: numbers(3 * n, (i) => i * i) }, carried, count: n };
      plans.push((await expectSequential(counted, execution, { device })).statistics.plans.join());
    }
    expect(plans).toEqual(["in place", "proven", "in place"]);
  });
});

describe("a rule left out", () => {
  it.each([
    ["mark", "cut_at(slot + 1u);"],
    ["execute", "own_carried = control.carried_before;"],
  ] as const)("gives wrong results: %s", async (name, rule) => {
    const device = await devices.sharedDevice();
    const changed = changeKernels(device, rule, "", name);
    const execution = given((i) => i % 50 === 20, n);
    await expect(expectSequential(appended, execution, { device })).rejects.toThrow("to deeply equal");
    expect(changed()).toBe(1);
  });
});
