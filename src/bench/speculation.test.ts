import { describe, expect, it } from "vitest";
import { type MeasuredProgram, measureSpeculation, type SpeculationProgram } from "./speculation.ts";

const program = (name: string, run: () => Promise<void>): MeasuredProgram => ({
  name,
  size: "small",
  create: () => ({ iterations: 1, inputs: () => [], verify: () => ({ ok: true, message: "" }) }),
  run,
  load: async () => run,
  compiled: () => [1],
});

describe("measurements of loops", () => {
  it("leave out what is not asked for", async () => {
    const { programs, ok } = await measureSpeculation({
      newDevice: () => new Promise(() => {}),
      programs: [program("short", async () => {})],
      growth: [],
      ...{ runs: 1, threads: 1, seconds: 5, variants: ["threads"] },
      progress: () => {},
    });
    expect(programs[0]).toMatchObject({ threads: { right: true }, variants: {} });
    expect(ok).toBe(true);
  });

  it("go on after a loop that never ends, and tell of each as it is done", async () => {
    const told: SpeculationProgram[] = [];
    const { ok, programs } = await measureSpeculation({
      newDevice: () => new Promise(() => {}),
      programs: [program("endless", () => new Promise(() => {})), program("short", async () => {})],
      growth: [],
      ...{ runs: 1, threads: 1, seconds: 0.05 },
      progress: () => {},
      measured: async (program) => {
        told.push(program);
      },
    });
    expect(programs).toEqual(told);
    const [endless, short] = programs;
    const failed = { failed: "it took more than 0.05 s" };
    expect(endless).toMatchObject({ javascript: failed, threads: failed, variants: { default: failed } });
    expect(short).toMatchObject({ javascript: { runs: 1 }, threads: { right: true } });
    expect(ok).toBe(false);
  });
});
