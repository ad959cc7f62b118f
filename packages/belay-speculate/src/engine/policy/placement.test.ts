import { describe, expect, it } from "vitest";
import type { Loop } from "../../loops/tree/ir.ts";
import {
  afterCpu,
  afterCpuAlone,
  afterGpu,
  afterRepeat,
  type Costs,
  type CpuPlacement,
  isSure,
  type PlacedCall,
  place,
  repeatedCall,
  repeats,
  staysOnCpu,
  type Timings,
  unmeasured,
} from "./placement.ts";

const loop = { body: [] } as unknown as Loop;
const nobody = unmeasured(loop);
/** A loop that the CPU executes at 1 ms for an iteration, warm, and the GPU at 0.1 ms. */
const known: Timings = {
  ...nobody,
  cpuRate: 1,
  cpuTime: 1000,
  gpuRate: 0.1,
  lastGpuRate: 0.1,
  isCompiled: true,
};
const nothing = { uploaded: 0, downloaded: 0 };
const call: PlacedCall = {
  count: 1000,
  done: 0,
  isOnHost: true,
  bytes: { lent: nothing, toDevice: 0, toHost: nothing },
  slowestCompile: 0,
  isSmall: null,
};
const costs: Costs = { launch: 1, uploadedByte: 0.01, downloadedByte: 0.01, compile: 0 };
const lent = (bytes: number) => ({ ...call.bytes, lent: { uploaded: bytes, downloaded: bytes } });
const kept = (bytes: number) => ({ ...call.bytes, toHost: { uploaded: 0, downloaded: bytes } });
const regret = (of: "cpu" | "gpu", time: number) => ({ ...known, regret: { of, time } });

describe("the place of a call", () => {
  it.each<[string, Timings, Partial<PlacedCall>, number, Costs | null, string]>([
    // Before the device is asked.
    ["nobody has executed it", nobody, {}, 0, null, "cpu to 1000 until warm"],
    ["the CPU is warm", { ...nobody, cpuTime: 6 }, {}, 0, null, "unknown"],
    ["the GPU is measured", { ...known, cpuTime: 0 }, {}, 0, null, "unknown"],
    ["the device has an array", nobody, { isOnHost: false }, 0, null, "unknown"],
    ["sizes call it small", known, { isSmall: true }, 0, null, "cpu to 1000 until end"],
    ["sizes call it large", known, { isSmall: false }, 0, null, "gpu"],
    // By what both sides take: 104 ms on the GPU for 1000 iterations, 1 ms on the CPU for each.
    ["the GPU is faster", known, {}, 0, costs, "gpu"],
    ["there are few iterations", known, { count: 4 }, 0, costs, "cpu to 4 until slower"],
    ["few iterations are left", known, { done: 997 }, 0, costs, "cpu to 1000 until slower"],
    ["lending arrays takes longer", known, { bytes: lent(50_000) }, 0, costs, "cpu to 1000 until slower"],
    [
      "compiling takes longer",
      { ...known, isCompiled: false },
      { slowestCompile: 3000 },
      0,
      costs,
      "cpu to 1000 until slower",
    ],
    [
      "the loop is worth compiling",
      { ...known, isCompiled: false, cpuTime: 3000 },
      { slowestCompile: 3000 },
      0,
      costs,
      "gpu",
    ],
    ["the GPU lost long ago", { ...known, gpuRate: 9, gpuLoss: 1, cpuTimeSince: 17 }, {}, 0, costs, "gpu"],
    [
      "the GPU lost just now",
      { ...known, gpuRate: 9, gpuLoss: 1, cpuTimeSince: 16 },
      {},
      0,
      costs,
      "cpu to 1000 until slower",
    ],
    // While little is known.
    [
      "the CPU may be faster",
      { ...known, cpuRate: null, assumedCpuRate: 0.4 },
      {},
      0,
      costs,
      "cpu to 1000 until slower",
    ],
    ["a trial has taken its part", { ...known, cpuRate: null, assumedCpuRate: 0.4 }, {}, 26, costs, "gpu"],
    ["a cold CPU is clearly slower", { ...known, cpuTime: 1 }, {}, 0, costs, "gpu"],
    [
      "a cold CPU is not clearly slower",
      { ...known, cpuTime: 1, cpuRate: 0.4 },
      {},
      0,
      costs,
      "cpu to 1000 until slower",
    ],
    // At the beginning only.
    ["the GPU was slow at first", { ...known, head: 0.4 }, {}, 0, costs, "cpu to 400 until end"],
    ["the head is done", { ...known, head: 0.4 }, { done: 400 }, 0, costs, "gpu"],
    // Arrays that stay on the device: 51 ms to fetch 5000 bytes.
    [
      "the CPU is faster, but for arrays to fetch",
      { ...known, cpuRate: 0.1 },
      { bytes: kept(5000) },
      0,
      costs,
      "gpu",
    ],
    [
      "they would have been fetched by what was lost",
      { ...regret("gpu", 49), cpuRate: 0.1 },
      { bytes: kept(5000) },
      0,
      costs,
      "cpu to 1000 until slower",
    ],
    [
      "the GPU is faster, but for arrays to send",
      known,
      { bytes: { ...call.bytes, toDevice: 90_000 } },
      0,
      costs,
      "cpu to 1000 until slower",
    ],
    [
      "they would have been sent by what was lost",
      regret("cpu", 100),
      { bytes: { ...call.bytes, toDevice: 90_000 } },
      0,
      costs,
      "gpu",
    ],
  ])("where %s", (_, timings, given, spent, asked, expected) => {
    const placement = place(timings, { ...call, ...given }, { spent }, asked);
    const { on } = placement;
    expect(on === "cpu" ? `cpu to ${placement.to} until ${placement.until}` : on).toBe(expected);
  });

  it.each<[string, CpuPlacement["until"], Timings, number, number, boolean]>([
    ["it is not warm", "warm", { ...nobody, cpuTime: 5 }, 10, 5, true],
    ["it is warm", "warm", { ...nobody, cpuTime: 5.1 }, 10, 5, false],
    ["it was told to go on", "end", known, 10, 1e6, true],
    ["the trial lasts", "slower", known, 0, 25, true],
    ["the trial has ended", "slower", known, 0, 27, false],
    ["it is faster with the rest", "slower", known, 996, 27, true],
  ])("stays the CPU where %s: %s", (_, until, timings, done, spent, expected) => {
    const placement = { on: "cpu", to: 1000, until, moving: 0, overhead: { fixed: 4, sending: 0 } } as const;
    expect(staysOnCpu(placement, timings, { count: 1000, done }, { spent })).toBe(expected);
  });
});

describe("what executions leave", () => {
  const overhead = { fixed: 10, sending: 5 };
  const execution = { iterations: 100, time: 35, overhead, head: null };

  it("is the CPU's last rate, and its time", () => {
    const after = afterCpu(afterCpu(nobody, 2, 10), null, 5);
    expect(after).toMatchObject({ cpuRate: 2, cpuTime: 15, cpuTimeSince: 15 });
  });

  it("is no rate of the GPU where it compiled, and the better of two afterwards", () => {
    const first = afterGpu(nobody, execution);
    expect(first).toMatchObject({ gpuRate: null, isCompiled: true });
    const second = afterGpu(first, execution);
    expect(second).toMatchObject({ gpuRate: 0.2, lastGpuRate: 0.2 });
    const heldUp = afterGpu(second, { ...execution, time: 1015 });
    expect(heldUp).toMatchObject({ gpuRate: 0.2, lastGpuRate: 10 });
    expect(afterGpu(heldUp, { ...execution, time: 1015 }).gpuRate).toBe(10);
  });

  it("is the GPU's loss, and the head that was too slow, which becomes shorter", () => {
    const lost = afterGpu(known, { ...execution, time: 115, head: 50 });
    expect(lost).toMatchObject({ gpuLoss: 15, cpuTimeSince: 0, head: 0.5 });
    expect(afterGpu(lost, execution)).toMatchObject({ gpuLoss: 0, head: 0.4375 });
  });

  it("is a regret that adds up on one side, and ends on the other", () => {
    const free = { fixed: 0, sending: 0 };
    const gpu = afterGpu(known, { ...execution, time: 125 });
    expect(gpu.regret).toEqual({ of: "gpu", time: 20 });
    expect(afterGpu(gpu, { ...execution, time: 125 }).regret).toEqual({ of: "gpu", time: 40 });
    const cpu = afterCpuAlone(known, 100, 30, free);
    expect(cpu.regret).toEqual({ of: "cpu", time: 20 });
    expect(afterCpuAlone(cpu, 100, 5, free).regret).toEqual({ of: "cpu", time: 20 });
    expect(afterGpu(cpu, execution).regret).toEqual({ of: "gpu", time: 0 });
  });
});

describe("calls that are executed at once", () => {
  const arrays = [
    { length: 10, isKept: false },
    { length: 20, isKept: true },
  ];
  const first = repeatedCall(100, arrays, "the CPU is faster", 2);

  it("may take twice as long, and half a millisecond", () => {
    expect(first.limit).toBe(4.5);
    expect(repeatedCall(100, arrays, "the loop is small", Infinity).limit).toBe(Infinity);
  });

  it("are those of as many iterations on arrays as long, kept in the same places", () => {
    expect(repeats(first, 100, arrays)).toBe(true);
    expect(repeats(first, 99, arrays)).toBe(false);
    expect(repeats(first, 100, [arrays[0]!, { length: 21, isKept: true }])).toBe(false);
    expect(repeats(first, 100, [arrays[0]!, { length: 20, isKept: false }])).toBe(false);
  });

  it("are decided about after a number of them, and after one that took too long", () => {
    let calls = 0;
    for (let left: typeof first | null = first; left; left = afterRepeat(left, true)) calls++;
    expect(calls).toBe(64);
    expect(afterRepeat(first, false)).toBeNull();
  });

  it("begin where the CPU is known to be best, and no array would be better off on the device", () => {
    expect(isSure(known, 0, costs)).toBe(true);
    expect(isSure(known, 0, null)).toBe(false);
    expect(isSure({ ...known, cpuTime: 1 }, 0, costs)).toBe(false);
    expect(isSure({ ...known, cpuRate: null }, 0, costs)).toBe(false);
    expect(isSure(regret("cpu", 1), 10, costs)).toBe(false);
    expect(isSure(regret("cpu", 1), 0, costs)).toBe(true);
    expect(isSure(known, 10, costs)).toBe(true);
  });
});
