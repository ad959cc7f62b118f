import { describe, expect, it } from "vitest";
import { runInSlices } from "../call/slices.ts";
import { CountedHandover, TimedHandover } from "./handover.ts";

describe("the handover", () => {
  it("is too slow when the CPU promises to be faster, moving of data included", () => {
    const handover = new TimedHandover(10, 0.001);
    handover.observe(1000, 1000, 2); // 0.002 ms for each
    expect(handover.isDue(100_000)).toBe(true);
    handover.observe(1000, 1000, 2);
    expect(handover.isDue(1000)).toBe(false); // would take 2 ms, less than moving the data
    handover.observe(10_000, 10_000, 2);
    expect(handover.isDue(100_000)).toBe(false);
  });

  it("is not judged by too little", () => {
    const handover = new TimedHandover(0, 1e-6);
    handover.observe(10, 1, 0.4);
    expect(handover.isDue(1e6)).toBe(false);
    handover.observe(10, 1, 0.4);
    handover.observe(10, 1, 0.4);
    expect(handover.isDue(1e6)).toBe(true);
  });

  it("is judged by the waste when it is not known how fast the CPU is", () => {
    const handover = new TimedHandover(1, null);
    handover.observe(4000, 1000, 5);
    expect(handover.isDue(1e6)).toBe(false);
    handover.observe(65_536, 1, 5);
    expect(handover.isDue(1e6)).toBe(true);
    handover.observeCpu(1000, 10);
    handover.observe(65_536, 600, 5); // 0.0083 ms for each, where the CPU takes 0.01
    expect(handover.isDue(1e6)).toBe(false);
  });

  it("lets the CPU work longer each time", () => {
    const handover = new TimedHandover(5, null);
    const turns = [handover.nextCpuTime(), handover.nextCpuTime(), handover.nextCpuTime()];
    expect(turns[0]).toBeGreaterThan(5);
    expect(turns[2]! - turns[1]!).toBeGreaterThan(0);
    expect(turns[1]! - turns[0]!).toBeGreaterThan(0);
  });
});

it("lets the CPU work longer the slower the GPU was", () => {
  const [slower, slow] = [100, 2].map((times) => {
    const handover = new TimedHandover(5, 0.001);
    handover.observe(1000, 1000, times);
    expect(handover.isDue(1e6)).toBe(true);
    return handover.nextCpuTime();
  });
  expect(slower! / slow!).toBeCloseTo(50);
});

it("is counted where the result depends on it: after enough, and by the waste", () => {
  const handover = new CountedHandover();
  handover.observe(60_000, 1);
  expect(handover.isDue()).toBe(false);
  handover.observe(60_000, 1);
  expect(handover.isDue()).toBe(true);
  handover.observe(120_000, 2000);
  expect(handover.isDue()).toBe(false);
  expect(handover.nextCpuTime()).toBe(Infinity);
});

describe("slices", () => {
  const record =
    (ranges: [number, number][], ends = Infinity) =>
    (from: number, to: number) => {
      ranges.push([from, to]);
      return ends < to ? { next: ends + 1, ended: true } : { next: to, ended: false };
    };

  it("double until all is done", () => {
    const ranges: [number, number][] = [];
    expect(runInSlices(record(ranges), 10, 30, () => true)).toEqual({ next: 30, ended: false });
    expect(ranges).toEqual([
      [10, 14],
      [14, 22],
      [22, 30],
    ]);
  });

  it("stop when they are told to, and when the loop ends itself", () => {
    expect(runInSlices(record([]), 0, 300, ({ next }) => next < 100)).toEqual({ next: 124, ended: false });
    expect(runInSlices(record([], 70), 0, 300, () => true)).toEqual({ next: 71, ended: true });
  });
});
