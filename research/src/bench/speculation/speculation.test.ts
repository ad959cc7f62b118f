import { afterEach, describe, expect, it, vi } from "vitest";
import type { SpeculatedProgram, SpeculationProgram } from "./program.ts";
import { measureSpeculation } from "./speculation.ts";
import type { Measured } from "./variant.ts";

const program = (name: string, run: () => Promise<void>): SpeculatedProgram => ({
  name,
  size: "small",
  create: () => ({ iterations: 1, inputs: () => [], verify: () => ({ ok: true, message: "" }) }),
  inOrder: { run, compiled: () => ({ seconds: [1], left: [] }) },
  load: async () => run,
});

afterEach(() => void vi.useRealTimers());

describe("measurements of loops", () => {
  it("leave out what is not asked for", async () => {
    const { programs, ok } = await measureSpeculation({
      newDevice: () => new Promise(() => {}),
      programs: [program("short", async () => {})],
      growth: [],
      runs: 1,
      threads: 1,
      seconds: 600,
      variants: ["threads"],
      progress: () => {},
    });
    expect(programs[0]).toMatchObject({ threads: { right: true }, variants: {} });
    expect(ok).toBe(true);
  });

  it("do not begin again for what there is no need to measure", async () => {
    let created = 0;
    const loop = program("short", async () => {});
    const create = () => {
      created++;
      return loop.create();
    };
    const options = {
      newDevice: () => new Promise<never>(() => {}),
      programs: [{ ...loop, create }],
      growth: [],
      runs: 1,
      threads: 1,
      seconds: 600,
      variants: ["default", "no reuse"] as const,
      progress: () => {},
    };
    const times = { median: 1, lower: 1, upper: 1, runs: 1 };
    const known = {
      name: "short",
      size: "small",
      iterations: 1,
      javascript: times,
      c: times,
      took: {},
    };
    const logged = { right: true, plans: ["logged"] } as unknown as Measured;
    const earlier = { programs: [{ ...known, variants: { default: logged } }], growth: [] };
    expect((await measureSpeculation({ ...options, earlier })).programs).toEqual(earlier.programs);
    expect(created).toBe(0);
  });

  it("go on with what was measured before, and begin nothing when their time is over", async () => {
    let calls = 0;
    const options = {
      newDevice: () => new Promise<never>(() => {}),
      programs: [program("short", async () => void calls++)],
      growth: [],
      runs: 1,
      threads: 1,
      seconds: 600,
      variants: ["threads"] as const,
      progress: () => {},
    };
    const saved: SpeculationProgram[][] = [];
    const none = await measureSpeculation({ ...options, timeLimitMs: 0 });
    expect(none).toEqual({ ok: true, programs: [], growth: [] });
    const save = async ({ programs }: { programs: readonly SpeculationProgram[] }) => {
      saved.push([...programs]);
    };
    const first = await measureSpeculation({ ...options, save });
    expect(saved.map(([program]) => Object.keys(program!).length)).toEqual([6, 7, 8]);
    expect(saved.at(-1)).toEqual(first.programs);
    const before = calls;
    expect(await measureSpeculation({ ...options, earlier: first })).toEqual(first);
    expect(calls).toBe(before);
  });

  it("go on after a loop that never ends, and tell of each as it is done", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const told: SpeculationProgram[] = [];
    const hang = () => {
      vi.advanceTimersByTime(60_000);
      return new Promise<never>(() => {});
    };
    const { ok, programs } = await measureSpeculation({
      newDevice: hang,
      programs: [program("endless", hang), program("short", async () => {})],
      growth: [],
      runs: 1,
      threads: 1,
      seconds: 60,
      progress: () => {},
      measured: (program) => {
        told.push(program);
      },
    });
    expect(programs).toEqual(told);
    const [endless, short] = programs;
    const failed = { failed: "it took more than 60 s", late: true };
    expect(endless).toMatchObject({ javascript: failed, threads: failed, variants: { default: failed } });
    expect(short).toMatchObject({ javascript: { runs: 1 }, threads: { right: true } });
    expect(ok).toBe(false);
  });
});
