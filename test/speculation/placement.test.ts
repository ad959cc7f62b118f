/** The placement of loops on devices with simulated costs. */

import { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { type Costs, isSmall } from "belay-speculate/internal/engine/policy/placement";
import { ResidentArray } from "belay-speculate/internal/engine/transfer/resident";
import { afterEach, expect, it, vi } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { expectSequential, loopFrom, numbers } from "./sourceLoops.ts";

const devices = testDevices();
const n = 500;
const order = numbers(n, (i) => (i * 77 + 5) % n);

afterEach(() => vi.restoreAllMocks());

/** Executes a loop on a device that seems to have these costs. */
async function execute(costs: Costs, count = n, isResident = false) {
  const loop = loopFrom(
    "a: Int32Array, p: Int32Array, last: number, sum: number",
    "for (let i = 0; i < p.length; i++) { a[p[i]!] = (a[p[i]!]! + i) | 0; sum = (sum + a[p[i]!]!) | 0; if (p[i]! === 200) { last = i; } }",
    "speculate(a) reduction(+:sum)",
  );
  const given = (names: readonly { name: string }[]) =>
    Object.fromEntries(names.map(({ name }) => [name, 5]));
  const [a, p] = [numbers(n, (i) => i * 3), order];
  const arrays = isResident ? { a: new ResidentArray(a), p: new ResidentArray(p) } : { a, p };
  const device = await devices.sharedDevice();
  Workspace.of(device).costs = Promise.resolve(costs);
  const run = () =>
    expectSequential(
      loop,
      { arrays, carried: given(loop.carried), reductions: given(loop.reductions), count },
      { device, fallback: "measured" },
    );
  return { first: (await run()).statistics, second: (await run()).statistics };
}

const free: Costs = { launch: 0, uploadedByte: 0, downloadedByte: 0, compile: 0 };

it("stays on the CPU for less than a launch takes", async () => {
  const { first } = await execute({ ...free, launch: 1000 });
  expect(first).toMatchObject({ engine: "sequential", reason: "the CPU is faster", onCpu: n });
  expect(first.bytes).toEqual({ uploaded: 0, downloaded: 0 });
});

it("continues on the GPU if the CPU proves slower", async () => {
  let clock = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (clock += 10));
  const { first } = await execute(free);
  expect(first).toMatchObject({ engine: "default", committed: n, onCpu: 4 });
});

it("leaves kept arrays where they are, on either side", async () => {
  const onHost = await execute({ ...free, launch: 1000 }, n, true);
  for (const each of [onHost.first, onHost.second]) {
    expect(each).toMatchObject({ engine: "sequential", bytes: { uploaded: 0, downloaded: 0 } });
  }
  let clock = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (clock += 10));
  const { first, second } = await execute(free, n, true);
  expect(first.bytes).toEqual({ uploaded: 8 * n, downloaded: 0 });
  expect(second.bytes.downloaded).toBe(0);
});

it.each([
  [0, n, true],
  [1000, 2 ** 20, false],
])("asks no clock where the CPU rounds in another way, launches of %d ms", async (launch, length, small) => {
  const loop = loopFrom(
    "a: Float32Array, p: Int32Array",
    "for (let i = 0; i < p.length; i++) { a[p[i]!] = a[p[i]!]! + 1; }",
    "speculate(a)",
  );
  const device = await devices.sharedDevice();
  Workspace.of(device).costs = Promise.resolve({ ...free, launch });
  // The bytes of an array that stays on the device count.
  const a = new ResidentArray(new Float32Array(length));
  const given = { arrays: { a, p: order }, count: n };
  const { statistics } = await expectSequential(loop, given, { device, fallback: "measured" });
  expect(statistics.reason).toBe(small ? "the loop is small" : "the loop is large");
  expect(statistics.onCpu).toBe(small ? n : 0);
});

it("depends on the bytes of arrays that stay on the GPU, and not on their place", async () => {
  const loop = loopFrom(
    "a: Float32Array, p: Int32Array",
    "for (let i = 0; i < p.length; i++) { a[p[i]!] = a[p[i]!]! + 1; }",
    "speculate(a)",
  );
  const device = await devices.sharedDevice();
  const arrays = { a: new ResidentArray(new Float32Array(n)), p: order };
  const reasons: string[] = [];
  for (const fallback of ["measured", "never", "measured"] as const) {
    const { statistics } = await expectSequential(loop, { arrays, count: n }, { device, fallback });
    reasons.push(statistics.reason);
    if (fallback === "never") arrays.a.deviceChanged();
  }
  expect(reasons).toEqual(["the loop is small", "the program asked for it", "the loop is small"]);
  expect(isSmall(loop, n, { a: n, p: n }, 2 ** 24)).toBe(false);
});

it("counts a loop as large by its iterations, or by the elements that inner loops may visit", async () => {
  const flat = loopFrom(
    "a: Float32Array",
    "for (let i = 0; i < 9; i++) { a[i] = a[i]! + 1; }",
    "speculate(a)",
  );
  const nested = loopFrom(
    "a: Float32Array",
    "for (let i = 0; i < 9; i++) { for (let k = 0; k < 3; k++) { a[i] = a[i]! + 1; } }",
    "speculate(a)",
  );
  expect(isSmall(flat, 1000, { a: 2 ** 24 }, 0)).toBe(true);
  expect(isSmall(flat, 2 ** 22, { a: 10 }, 0)).toBe(false);
  expect(isSmall(nested, 1000, { a: 10 }, 0)).toBe(true);
  expect(isSmall(nested, 1000, { a: 2 ** 24 }, 0)).toBe(false);
});
