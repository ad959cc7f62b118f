/** Where loops are executed when that is to be measured. */
import { afterEach, expect, it, vi } from "vitest";
import type { Costs } from "../../src/speculation/costs.ts";
import { testDevices } from "../testDevices.ts";
import { numbers } from "./sourceLoops.ts";

const devices = testDevices();
const n = 500;
const order = numbers(n, (i) => (i * 77 + 5) % n);

afterEach(() => {
  vi.doUnmock("../../src/speculation/costs.ts");
  vi.resetModules();
});

/** Executes a loop on a device that seems to have these costs. */
async function execute(costs: Costs, count = n, isResident = false) {
  vi.resetModules();
  vi.doMock("../../src/speculation/costs.ts", () => ({ costsOf: async () => costs }));
  const { expectSequential, loopFrom } = await import("./sourceLoops.ts");
  const { Resident } = await import("../../src/speculation/resident.ts");
  const loop = loopFrom(
    "a: Int32Array, p: Int32Array, last: number, sum: number",
    "for (let i = 0; i < p.length; i++) { a[p[i]!] = (a[p[i]!]! + i) | 0; sum = (sum + a[p[i]!]!) | 0; if (p[i]! === 200) { last = i; } }",
    "speculate(a) reduction(+:sum)",
  );
  const given = (names: readonly { name: string }[]) =>
    Object.fromEntries(names.map(({ name }) => [name, 5]));
  const [a, p] = [numbers(n, (i) => i * 3), order];
  const arrays = isResident ? { a: new Resident(a), p: new Resident(p) } : { a, p };
  const device = await devices.newDevice();
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

it("goes on on the GPU where the CPU has turned out to be slower", async () => {
  const { first } = await execute(free);
  expect(first).toMatchObject({ engine: "default", committed: n, onCpu: 64 });
});

it("does not bring arrays home for a trial", async () => {
  const { first, second } = await execute({ ...free, launch: 0.001 }, n, true);
  expect(first.bytes.downloaded).toBe(0);
  expect(second.bytes).toEqual({ uploaded: 0, downloaded: 0 });
});
