/**
 * Windows that one execution finds, and the next one with the same addresses executes without a
 * check.
 */

import { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { numbersOf } from "belay-speculate/internal/engine/rounds/execution";
import { specialize } from "belay-speculate/internal/loops/analysis/specialization/specialize";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();

const half = 16;
/** Butterflies: each stage needs all of the one before. The span of the first one is an input. */
const butterflies = loopFrom(
  "a: Int32Array, first: number",
  `for (let i = 0; i < 1000; i++) {
    const span = first >> (i >> 4);
    const butterfly = i & 15;
    const low = (butterfly + (butterfly & -span)) | 0;
    const high = (low + span) | 0;
    const before = a[low]!;
    a[low] = (before + a[high]!) | 0;
    a[high] = Math.imul((before - a[high]!) | 0, 3);
  }`,
  "speculate(a)",
);
const given = (stages: number, length = 2 * half, first = half) => ({
  arrays: { a: numbers(length, (i) => i * i) },
  inputs: { first },
  count: half * stages,
});
const plansOf = async (loop: typeof butterflies, ...executions: ReturnType<typeof given>[]) => {
  const device = await devices.sharedDevice();
  const plans: string[] = [];
  for (const execution of executions) {
    const { statistics } = await expectSequential(loop, execution, { device });
    plans.push(`${statistics.plans.join()} in ${statistics.rounds}, ${statistics.misspeculated} in vain`);
  }
  return plans;
};

describe("windows", () => {
  it("are executed again without a check", async () => {
    const [first, ...others] = await plansOf(butterflies, given(4), given(4), given(4));
    expect(first).toMatch(/^in place in [4-9], [1-9]\d* in vain$/);
    expect(others).toEqual(
      new Array(2).fill(`proven in ${first!.split(" ")[3]!.replace(",", "")}, 0 in vain`),
    );
  });

  it("are found anew with other numbers, or another length", async () => {
    const executions = [given(4), given(5), given(4, 3 * half), given(4, 2 * half, 8), given(5)];
    const plans = await plansOf(butterflies, ...executions);
    expect(plans.map((plan) => plan.split(" in ")[0])).toEqual([...new Array(4).fill("in place"), "proven"]);
  });

  it("are kept for no loop whose addresses are elements of an array", async () => {
    const gather = loopFrom(
      "a: Int32Array, p: Int32Array",
      "for (let i = 0; i < p.length; i++) { a[p[i]!] = (a[i]! + 1) | 0; }",
      "speculate(a)",
    );
    const device = await devices.sharedDevice();
    for (const p of [numbers(64, (i) => i), numbers(64, (i) => Math.min(63, i + 1))]) {
      const { statistics } = await expectSequential(
        gather,
        { arrays: { a: numbers(64, (i) => i), p }, count: 64 },
        { device },
      );
      expect(statistics.plans[0]).toBe("in place");
    }
  });
});

describe("a rule left out", () => {
  it("gives wrong results: that the numbers are the same", async () => {
    const chain = loopFrom(
      "a: Int32Array, distance: number",
      "for (let i = 0; i < 1000; i++) { a[(i + distance) | 0] = (a[i]! + 1) | 0; }",
      "speculate(a)",
    );
    const execution = {
      arrays: { a: numbers(2 * half, (i) => i * i) },
      inputs: { distance: 1 },
      count: half,
    };
    const device = await devices.sharedDevice();
    const lengths = { a: 2 * half };
    const executed = { ...execution, lengths, carried: {}, first: 0, step: 1 };
    const variant = specialize(chain, executed);
    const known = numbersOf({ ...executed, loop: variant })!;
    Workspace.of(device).profileOf(variant).windows.set(known, [half]);
    await expect(expectSequential(chain, execution, { device })).rejects.toThrow("to deeply equal");
  });
});
