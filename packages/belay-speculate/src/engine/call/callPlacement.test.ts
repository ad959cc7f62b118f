import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Loop } from "../../loops/tree/ir.ts";
import type { Workspace } from "../device/workspace.ts";
import { LoopProfile } from "../policy/loopProfile.ts";
import type { Costs } from "../policy/placement.ts";
import { CallArrays } from "../transfer/callArrays.ts";
import { deviceCopies } from "../transfer/deviceCopies.ts";
import { ResidentArray } from "../transfer/resident.ts";
import type { SpeculateCall } from "./call.ts";
import { CallPlacement } from "./callPlacement.ts";

let costs: Costs;

/** The milliseconds on the clock that all code reads here. */
let clock: number;
beforeEach(() => {
  clock = 0;
  vi.spyOn(performance, "now").mockImplementation(() => clock);
  costs = { launch: 1, uploadedByte: 0.01, downloadedByte: 0.01, compile: 0 };
});
afterEach(() => {
  vi.restoreAllMocks();
  // No device has these copies. A later loop of the process must not look for them there.
  for (const copy of deviceCopies.all()) deviceCopies.remove(copy);
});

const count = 1000;
const bytes = 4 * count;

/**
 * Returns a program whose loop takes the given milliseconds on the CPU and on the GPU. `isKept` is
 * true if its array stays on the GPU. A kept array of a program with a `body` is on the GPU before
 * each call, left there by another loop.
 */
function program(onCpu: number, onGpu: number, isKept: boolean, body: readonly object[] = []) {
  const loop = {
    arrays: [{ name: "a", role: "tracked" }],
    carried: [],
    reductions: [],
    body,
  } as unknown as Loop;
  const a = new Int32Array(count);
  const profile = new LoopProfile(loop);
  const workspace = {
    profileOf: () => profile,
    costs: Promise.resolve(costs),
    borrow: () => ({ destroy() {} }),
    giveBack() {},
    uploads: { write: async () => {} },
    pipelines: { slowest: 0 },
  } as unknown as Workspace;
  const given = isKept ? new ResidentArray(a) : a;
  const isForeign = body.length > 0;
  return async (): Promise<{ cpu: number; time: number }> => {
    if (isForeign && given instanceof ResidentArray) {
      await given.upload(workspace, { uploaded: 0, downloaded: 0 });
      given.deviceChanged();
    }
    const call = { loop, count, arrays: { a: given } } as unknown as SpeculateCall;
    const arrays = new CallArrays(call);
    const start = clock;
    const placement = new CallPlacement(workspace, call, arrays);
    if (!arrays.areOnHost)
      vi.spyOn(arrays, "toHost").mockImplementation(async () => {
        clock += costs.launch + bytes * costs.downloadedByte;
        Object.defineProperty(arrays, "areOnHost", { value: true });
        if (given instanceof ResidentArray) given.pending?.take(new Uint8Array(bytes), 0);
      });
    const { next } = await placement.begin((from, to) => {
      arrays.hostChanged();
      clock += (onCpu * (to - from)) / count;
      return { next: to, ended: false };
    });
    placement.handover();
    if (next < count) {
      const before = clock;
      clock += 4 * costs.launch + (onGpu * (count - next)) / count;
      clock += arrays.bytesToMove(workspace).toDevice * costs.uploadedByte;
      if (!isKept) clock += bytes * (costs.uploadedByte + costs.downloadedByte);
      await arrays.toDevice(workspace);
      placement.observeGpu(count, clock - before);
    }
    if (!isKept) arrays.giveBack();
    return { cpu: next, time: clock - start };
  };
}

async function executions(run: ReturnType<typeof program>, times: number) {
  const all = [];
  for (let n = 0; n < times; n++) all.push(await run());
  return all;
}

it("asks no device what it costs for loops that take less than the answer", async () => {
  const asked = vi.fn(() => 1);
  Object.defineProperty(costs, "launch", { get: asked });
  const run = program(1, 0, false);
  for (const { cpu, time } of await executions(run, 4)) {
    expect(cpu).toBe(count);
    expect(time).toBeCloseTo(1);
  }
  expect(asked).not.toHaveBeenCalled();
  await executions(run, 4);
  expect(asked).toHaveBeenCalled();
});

it("leaves a loop on the CPU that takes less than a launch and the moving", async () => {
  for (const { cpu, time } of await executions(program(50, 0, false), 40)) {
    expect(cpu).toBe(count);
    expect(time).toBeCloseTo(50);
  }
});

it("spends no more than a part of the GPU's time on finding out, and little later", async () => {
  const [gpu, moving] = [2, 2 * bytes * 0.01 + 4];
  const [first, ...later] = await executions(program(2000, gpu, false), 20);
  expect(first!.time).toBeLessThan(1.75 * (gpu + moving));
  for (const { cpu, time } of later) {
    expect(cpu).toBe(0);
    expect(time).toBeCloseTo(gpu + moving, 0);
  }
});

it("returns to the CPU when the GPU has turned out to be slower, and tries again as seldom as that was bad", async () => {
  const [cpu, gpu] = [500, 5000];
  const [first, second, third, ...all] = await executions(program(cpu, gpu, false), 500);
  for (const { time } of [first!, second!, third!]) expect(time).toBeLessThan(1.2 * gpu);
  const tries = all.filter(({ cpu }) => cpu < count).length;
  expect(tries).toBeGreaterThan(0);
  expect(tries * (gpu - cpu)).toBeLessThan((all.length * cpu) / 12);
});

it("stays with a GPU that something else held up once", async () => {
  const costly = program(500, 20, false);
  await executions(costly, 5);
  const gpu = vi.spyOn(CallPlacement.prototype, "observeGpu").mockImplementationOnce(function (
    this: CallPlacement,
    iterations,
    time,
  ) {
    this.observeGpu(iterations, 100 * time);
  });
  expect(await costly()).toMatchObject({ cpu: 0 });
  expect(gpu).toHaveBeenCalled();
  expect(await costly()).toMatchObject({ cpu: 0 });
});

it("begins on the CPU where the GPU was slow at first, and finds out when it is not any more", async () => {
  const run = program(500, 20, false);
  await executions(run, 3);
  const observe = vi.spyOn(CallPlacement.prototype, "handover").mockImplementationOnce(function (
    this: CallPlacement,
  ) {
    this.observeTurn(400);
    return this.handover();
  });
  expect(await run()).toMatchObject({ cpu: 0 });
  observe.mockRestore();
  const heads = (await executions(run, 10)).map(({ cpu }) => cpu);
  expect(heads[0]).toBe(400);
  for (const [n, head] of heads.entries()) if (n > 0) expect(head).toBeLessThan(heads[n - 1]!);
});

it("fetches no large array on the chance that the CPU is faster", async () => {
  const inner = [{ kind: "loop", body: [], update: [] }];
  costs = { ...costs, compile: 1000 };
  expect(await program(500, 20, true, inner)()).toMatchObject({ cpu: 0 });
  expect((await program(500, 20, true)()).cpu).toBeGreaterThan(0);
  // The chances of several calls add up.
  const all = await executions(program(5, 50, true, inner), 20);
  expect(all.map(({ cpu }) => cpu)).toContain(count);
});

it("leaves kept arrays on the host for a small loop, and on the device for a large one", async () => {
  for (const { cpu } of await executions(program(3, 0, true), 40)) expect(cpu).toBe(count);
  const large = await executions(program(300, 1, true), 20);
  for (const { cpu } of large.slice(2)) expect(cpu).toBe(0);
});

it.each([
  ["to the device when the work was worth it", 20, 1],
  ["to the host when the work was worth it", 3, 30],
])("moves kept arrays %s", async (_, onCpu, onGpu) => {
  const run = program(onCpu, onGpu, true);
  const all = await executions(run, 60);
  const best = Math.min(onCpu, onGpu + 4);
  const total = all.reduce((sum, { time }) => sum + time, 0);
  const moves = 3 * (bytes * 0.02 + 10);
  expect(total).toBeLessThan(60 * best + moves + 4 * Math.max(onCpu, onGpu));
  const last = all.slice(-10);
  for (const { cpu } of last) expect(cpu).toBe(onCpu < onGpu ? count : 0);
});
