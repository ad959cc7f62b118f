/** Tests on any adapter that each step measures the right thing. They ignore how long it takes. */
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { afterAll, beforeAll, expect, it } from "vitest";
import { geometricMean } from "../../commands/programs/report.ts";
import { shapes } from "../../workloads/model/shape.ts";
import { modelPrograms } from "./model.ts";
import type { UsedProgram } from "./program.ts";
import { isSound, measurePrograms, type ProgramsOptions } from "./programs.ts";
import { samplePrograms } from "./samples.ts";
import { tensorflowPrograms } from "./tensorflow.ts";
import { threePrograms } from "./three.ts";
import { typegpuPrograms } from "./typegpu.ts";

let opened: OpenedGpu;
beforeAll(async () => {
  opened = await openGpu();
});
afterAll(() => opened.close());

const measure = (programs: readonly UsedProgram[], changes: Partial<ProgramsOptions> = {}) =>
  measurePrograms({
    newDevice: () => newDevice(opened),
    programs,
    policies: ["default", "unprotected"],
    runs: 1,
    warmup: 1,
    calls: 0,
    progress: () => {},
    save: async () => {},
    ...changes,
  });

it("finds programs of a library and of a paper the same under each policy", async () => {
  const library = (await tensorflowPrograms(64)).filter(({ name }) => name === "add" || name === "network");
  const samples = samplePrograms("small").filter(({ name }) => name === "binarySearch");
  const others = [...typegpuPrograms(64), ...threePrograms(64)];
  const { ok, programs } = await measure([...library, ...others, ...samples]);
  expect(programs.map(({ name, failure }) => [name, failure])).toEqual([
    ["add", undefined],
    ["network", undefined],
    ["particles", undefined],
    ["smoothing", undefined],
    ["bouncing", undefined],
    ["binarySearch", undefined],
  ]);
  expect(ok).toBe(true);
  for (const { policies } of programs) {
    expect(policies).toMatchObject([
      { policy: "default", identical: true, faults: 0 },
      // Nothing can be detected, so nothing is saved, and no report is kept.
      { policy: "unprotected", identical: true, faults: 0, copies: 0, peakBytes: 0, heldBytes: 0 },
    ]);
    expect(policies[0]!.heldBytes).toBeGreaterThan(0);
  }
});

it("finds the tokens of a transformer the same by default", async () => {
  const decode = modelPrograms(shapes.campaign, ["f32"]).filter(({ name }) => name === "decode");
  const { programs } = await measure(decode, { policies: ["default"] });
  expect(programs).toMatchObject([{ name: "decode", policies: [{ identical: true, faults: 0 }] }]);
});

it("does not pass a program whose results differ, and goes on after one that fails", async () => {
  let runs = 0;
  const counting: UsedProgram = {
    name: "counting",
    source: "test",
    prepare: async () => ({ run: async () => [runs++] }),
  };
  const failing: UsedProgram = {
    name: "failing",
    source: "test",
    prepare: async () => {
      throw new Error("too large");
    },
  };
  const { ok, programs } = await measure([counting, failing]);
  expect(ok).toBe(false);
  expect(programs.map((program) => [isSound(program), program.failure])).toEqual([
    [false, undefined],
    [false, "too large"],
  ]);
});

it("measures the host time of calls on each device", async () => {
  const { host } = await measure([], { calls: 8 });
  expect(host.map(({ device }) => device)).toEqual(["plain", "default", "unprotected"]);
  for (const { dispatch, dispatchInPass, createBuffer, writeBuffer } of host)
    expect(Math.min(dispatch, dispatchInPass, createBuffer, writeBuffer)).toBeGreaterThan(0);
});

it("takes the geometric mean of ratios", () => {
  expect(geometricMean([1, 4])).toBeCloseTo(2);
  expect(geometricMean([])).toBeUndefined();
});

it.each([
  ["particles", typegpuPrograms],
  ["smoothing", typegpuPrograms],
  ["bouncing", threePrograms],
] as const)("computes %s anew in each run", async (name, programs) => {
  const device = await newDevice(opened);
  const { run } = await programs(64)
    .find((each) => each.name === name)!
    .prepare(device);
  const [first, second] = [Array.from(await run()), Array.from(await run())];
  expect(first.length).toBe(16);
  expect(first.some((number) => Number.isFinite(number) && number !== 0)).toBe(true);
  expect(second).toEqual(first);
  device.destroy();
});
