/**
 * Dependences found with a bit for each element: never one too few, and none if an iteration only
 * conflicts with itself.
 */

import { randomBelow } from "belay-research/internal/workloads/random";
import type { Engine } from "belay-speculate/internal/engine/call/call";
import { runDefault } from "belay-speculate/internal/engine/rounds/defaultEngine";
import { describe, expect, it, vi } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { changeKernels } from "./changedKernels.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const withWriteBitmap: Engine = (workspace, execution) =>
  runDefault(workspace, execution, { plan: "write bitmap" });

const iterations = 5;
const elements = 120;
/** Each iteration loads an element, and stores to two, which may be the same. */
const loop = loopFrom(
  "a: Int32Array, p: Int32Array, q: Int32Array, r: Int32Array",
  "for (let i = 0; i < p.length; i++) { a[p[i]!] = (Math.imul(a[q[i]!]!, 3) + i) | 0; a[r[i]!] = (a[r[i]!]! + 7) | 0; }",
  "speculate(a)",
);

/** The places for the iterations, of which some depend on each other in about half of all cases. */
function placesOf(seed: number) {
  const place = (stream: number) => numbers(iterations, (i) => randomBelow(elements, seed, 10 * i + stream));
  const [p, q, r] = [place(0), place(1), place(2)];
  for (let i = 0; i < iterations; i++) {
    const own = randomBelow(4, seed, 10 * i + 3);
    if (own === 0) q[i] = p[i]!;
    if (own === 1) r[i] = p[i]!;
    if (own === 2) q[i] = r[i]!;
  }
  return { p, q, r };
}

function depend({ p, q, r }: ReturnType<typeof placesOf>): boolean {
  return p.some((_, i) =>
    p.some((_, j) => i !== j && [p[j], r[j]].some((stored) => [p[i], q[i], r[i]].includes(stored))),
  );
}

it("are found exactly", async () => {
  const device = await devices.sharedDevice();
  let dependent = 0;
  for (let seed = 0; seed < 100; seed++) {
    const places = placesOf(seed);
    const arrays = { a: numbers(elements, (i) => i * i), ...places };
    const run = expectSequential(loop, { arrays, count: iterations }, { device, engine: withWriteBitmap });
    const { plans } = (await run).statistics;
    expect(plans[0]).toBe("write bitmap");
    expect(plans.length > 1, `seed ${seed}`).toBe(depend(places));
    dependent += Number(plans.length > 1);
  }
  expect(dependent).toBeGreaterThan(20);
  expect(dependent).toBeLessThan(80);
});

it("are found with a write bitmap if there are many elements", async () => {
  const device = await devices.sharedDevice();
  const arrays = () => ({ ...placesOf(1), a: numbers(2 ** 16, (i) => i) });
  const large = await expectSequential(loop, { arrays: arrays(), count: iterations }, { device });
  expect(large.statistics.plans[0]).toBe("write bitmap");
});

it("are found in each window separately, in several windows at once", async () => {
  const device = await devices.sharedDevice();
  const again = { ...loop, schedule: { iterationsPerRound: 10 } };
  const count = 60;
  // Iterations of different windows access each element.
  const places = {
    p: numbers(count, (i) => i % 10),
    q: numbers(count, (i) => i % 10),
    r: numbers(count, (i) => i % 10),
  };
  const submits: number[] = [];
  for (let execution = 0; execution < 2; execution++) {
    const submit = vi.spyOn(device.queue, "submit");
    const arrays = { a: numbers(elements, (i) => i * i), ...places };
    const { statistics } = await expectSequential(
      again,
      { arrays, count },
      { device, engine: withWriteBitmap },
    );
    expect(statistics).toMatchObject({ plans: ["write bitmap"], rounds: 6, misspeculated: 0 });
    submits.push(submit.mock.calls.length);
    submit.mockRestore();
  }
  // This submission, and one to download the array.
  expect(submits[1]).toBe(2);
});

describe("a rule left out", () => {
  it.each([
    ["fillBitmap", "!= 0u) { report_conflict", "> 0xfffffffeu) { report_conflict"],
    ["checkBitmap", "!= 0u && !owns(id)", "> 0xfffffffeu && !owns(id)"],
  ] as const)("gives wrong results: %s", async (name, find, put) => {
    const device = await devices.sharedDevice();
    const changed = changeKernels(device, find, put, name);
    const count = 64;
    const apart = numbers(count, (i) => i);
    // Each iteration stores where the next one stores before it, or loads a store of an earlier
    // one.
    const places =
      name === "fillBitmap"
        ? { p: apart, q: apart, r: numbers(count, (i) => i + 1) }
        : { p: apart, q: numbers(count, (i) => Math.max(0, i - 1)), r: numbers(count, (i) => 200 + i) };
    const arrays = { a: numbers(300, (i) => i), ...places };
    await expect(
      expectSequential(loop, { arrays, count }, { device, engine: withWriteBitmap }),
    ).rejects.toThrow("to deeply equal");
    expect(changed()).toBe(1);
  });
});
