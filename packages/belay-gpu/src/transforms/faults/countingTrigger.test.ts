import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { Names } from "../shared/names.ts";
import { countedWords, countingTrigger, countWords, sampleCapacity } from "./countingTrigger.ts";

const { newDevice } = testDevices();
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});
const invocations = 4;

/** Invocations execute site 1 once more than their number, and site 2, a load, three times. */
function kernel(): string {
  const names = new Names(typed(""));
  const { declarations, siteCount } = countingTrigger(names);
  const n = (thing: string) => names.the(thing);
  return `
    struct Report { dispatch: u32, counts: array<atomic<u32>> }
    @group(0) @binding(0) var<storage, read_write> ${n("report")}: Report;
    @group(0) @binding(1) var<storage, read> repeats: array<u32>;
    var<private> ${n("workgroup")}: vec3u;
    var<private> ${n("replica")}: u32;
    var<private> ${n("local")}: u32;
    ${siteCount!(2)}
    ${declarations}
    fn execute(replica: u32, local: u32) {
      ${n("replica")} = replica;
      ${n("local")} = local;
      ${n("aim")}();
      var hit = false;
      for (var i = 0u; i < (local + 1u) * repeats[0]; i++) { hit |= ${n("is_hit")}(1u) | ${n("is_spent")}(); }
      for (var i = 0u; i < 3u; i++) { hit |= ${n("is_hit_in")}(2u, 10u * local + i); }
      ${n("settle")}();
      if (hit) { ${n("report")}.dispatch = 99u; }
    }
    @compute @workgroup_size(${invocations})
    fn main(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) group: vec3u) {
      ${n("workgroup")} = vec3u(7u, 8u, group.z);
      execute(1u, local);
      execute(0u, local);
    }`;
}

interface Given {
  readonly stride: number;
  readonly seed?: number;
  readonly repeats?: number;
  /** The executions of site 1 before the run. */
  readonly before?: number;
}

/** Returns the counts of both sites, each with its samples. */
async function counted({ stride, seed = 0, repeats = 1, before = 0 }: Given) {
  const report = new Uint32Array(1 + countedWords(2));
  report[0] = 5;
  const counts = report.subarray(1);
  counts[countWords.seed] = seed;
  const starts = [0, 1].map((site) => countWords.sites + site * countWords.siteStride);
  for (const start of starts) counts[start + countWords.stride] = stride;
  counts[starts[0]!] = before;
  const buffers = { 0: report, 1: Uint32Array.of(repeats) };
  const ran = await runKernel(device, kernel(), { buffers, workgroups: [1, 1, 1] });
  const found = ran.buffers[0]!.subarray(1);
  const sites = starts.map((start) => {
    const drawn = found[start + countWords.drawn]!;
    const samples = Array.from({ length: Math.min(drawn, sampleCapacity) }, (_, i) => {
      const first = start + countWords.samples + i * countWords.sampleStride;
      return [...found.subarray(first, first + countWords.sampleStride)];
    });
    const [executions, overflows] = [found[start]!, found[start + countWords.overflows]!];
    return { executions, overflows, drawn, samples: samples.sort((a, b) => a[4]! - b[4]! || a[5]! - b[5]!) };
  });
  return { dispatch: ran.buffers[0]![0], iterations: found[countWords.iterations], sites };
}

describe("executions of sites", () => {
  it("are counted for one replica of each invocation, and strike nothing", async () => {
    const { dispatch, iterations, sites } = await counted({ stride: 0 });
    expect([dispatch, iterations]).toEqual([5, invocations]);
    expect(sites).toEqual([
      { executions: 10, overflows: 0, drawn: 0, samples: [] },
      { executions: 12, overflows: 0, drawn: 0, samples: [] },
    ]);
  });

  it("are counted beyond 32 bits", async () => {
    const { sites } = await counted({ stride: 0, before: 0xffff_fffd });
    expect(sites[0]).toMatchObject({ executions: 7, overflows: 1 });
  });

  it("are all drawn with a stride of one, each with its place and a line that it loaded", async () => {
    const { sites } = await counted({ stride: 1 });
    const [values, loads] = sites;
    expect(values!.samples).toEqual(
      [0, 1, 2, 3].flatMap((local) =>
        Array.from({ length: local + 1 }, (_, occurrence) => [5, 7, 8, 0, local, occurrence, 0]),
      ),
    );
    expect(loads!.drawn).toBe(12);
    // Each invocation keeps one of its loads, which represents all that are drawn.
    for (const [, , , , local, occurrence, line] of loads!.samples)
      expect(line).toBe(10 * local! + occurrence!);
  });

  it("are drawn in the proportion of the stride, as the seed says", async () => {
    const draws = await Promise.all(
      [1, 1, 2].map(async (seed) => (await counted({ stride: 10, seed, repeats: 20 })).sites[0]!),
    );
    for (const { executions, drawn } of draws) expect([executions, drawn]).toEqual([200, 20]);
    expect(draws[1]).toEqual(draws[0]);
    expect(draws[2]!.samples).not.toEqual(draws[0]!.samples);
  });

  it("are drawn beyond the room for samples without overwriting the next site", async () => {
    const { sites } = await counted({ stride: 1, repeats: 100 });
    const [values, loads] = sites;
    expect(values).toMatchObject({ executions: 1000, drawn: 1000 });
    expect(values!.samples).toHaveLength(sampleCapacity);
    expect(loads).toMatchObject({ executions: 12, overflows: 0, drawn: 12 });
  });
});
