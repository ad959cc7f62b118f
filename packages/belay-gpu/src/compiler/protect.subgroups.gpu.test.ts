/** Kernels with subgroup operations, whose replicas are whole subgroups of one workgroup. */
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { type KernelInput, runKernel } from "../../../../test/support/kernels/kernelRunner.ts";
import { differences, runReference, translated } from "../../../../test/support/kernels/reference.ts";
import { type CompilerResult, recordCause, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const inSubgroups = (code: string): CompilerResult => {
  const { subgroupMaxSize } = device.adapterInfo;
  return protect(code, { pairing: "subgroups", features: ["subgroups"], subgroupMaxSize });
};

const kernel = (body: string, { size = "8, 4", declarations = "", isUniform = true } = {}) => `
  enable subgroups;
  requires subgroup_id;
  ${isUniform ? "" : "diagnostic(off, subgroup_uniformity);"}
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  @group(0) @binding(1) var<storage, read> a: array<u32>;
  ${declarations}
  @compute @workgroup_size(${size}) fn main(@builtin(global_invocation_id) g: vec3u, @builtin(workgroup_id) w: vec3u,
      @builtin(local_invocation_index) l: u32, @builtin(subgroup_invocation_id) lane: u32,
      @builtin(subgroup_size) size: u32, @builtin(subgroup_id) s: u32, @builtin(num_subgroups) n: u32) {
    let i = w.x * 32u + l; let v = a[i]; ${body}
  }`;
const sums = { declarations: "var<workgroup> sums: array<u32, 32>; var<workgroup> count: atomic<u32>;" };
const kernels: Record<string, string> = {
  scans: kernel("out[i] = subgroupInclusiveAdd(v) ^ subgroupExclusiveMul(v | 1u) ^ subgroupMax(v);"),
  exchanges: kernel(
    "out[i] = subgroupShuffleXor(v, 1u) ^ subgroupBroadcast(v, 2u) ^ quadSwapDiagonal(v) ^ subgroupBallot(v % 3u == 0u).x;",
  ),
  floats: kernel("out[i] = bitcast<u32>(subgroupAdd(f32(v) * 1e-7) + subgroupMin(sin(f32(v))));"),
  "a sum over the workgroup": kernel(
    `let sum = subgroupAdd(v);
    if (lane == 0u) { sums[s] = sum; }
    if (subgroupElect()) { atomicAdd(&count, sum); }
    workgroupBarrier();
    if (l == 0u) { var all = atomicLoad(&count); for (var k = 0u; k < n; k++) { all = all * 3u + sums[k]; } out[i] = all; }
    else if (subgroupElect()) { out[i] = lane + g.y; }`,
    { ...sums, isUniform: false },
  ),
  "a loop with a barrier for each subgroup": kernel(
    `for (var k = 0u; k < n; k++) {
      if (s == k) { sums[l] = subgroupInclusiveAdd(v + sums[(l + 32u - size) % 32u]); }
      workgroupBarrier();
    }
    out[i] = sums[l];`,
    sums,
  ),
  "lanes that end early": kernel("if (s == 1u) { return; } out[i] = subgroupAdd(v) + lane;"),
  "a loop of subgroups": kernel(
    "var sum = v; while (subgroupAny(sum % 7u != 0u)) { sum = sum / 2u + lane; if (sum < 9u) { sum = 0u; } } out[i] = sum + s;",
    { isUniform: false },
  ),
  "built-in values": kernel("out[i] = ((s * 100u + n) * 100u + size) * 100u + lane;"),
  "a workgroup of one dimension": kernel("out[i] = subgroupAdd(v) + s;", { size: "32" }),
  "a workgroup of three dimensions": kernel("out[i] = subgroupAdd(v) + s + g.z;", { size: "4, 4, 2" }),
};

const words = Uint32Array.from({ length: 64 }, (_, i) => Math.imul(i + 1, 0x85ebca6b));
const input: KernelInput = { buffers: { 0: new Uint32Array(64), 1: words }, workgroups: [2, 1, 1] };

/** Runs a protected kernel; its results, and the records of its report. */
async function run(protectedKernel: CompilerResult) {
  const { buffers, report } = await runKernel(device, protectedKernel, input);
  const count = Math.min(report[reportWords.detections]!, reportWords.recordCapacity);
  const causes = Array.from(
    { length: count },
    (_, i) => report[reportWords.records + i * reportWords.recordStride + 6],
  );
  return { words: buffers[0]!, causes };
}

describe("whole subgroups", () => {
  it.each(Object.entries(kernels))("compute what a plain kernel computes: %s", async (_, code) => {
    const protectedKernel = inSubgroups(code);
    expect(protectedKernel.entryPoints.map(({ redundancy }) => redundancy)).toEqual(["intra+lds"]);
    const plain = await runKernel(device, code, input);
    expect(await run(protectedKernel)).toEqual({ words: plain.buffers[0], causes: [] });
  });

  it.each(Object.entries(kernels).filter(([name]) => name !== "floats"))(
    "compute what the executor computes: %s",
    async (_, code) => {
      const { buffers } = runReference(translated(code, input), input, device.adapterInfo.subgroupMinSize);
      const { words } = await run(inSubgroups(code));
      expect(differences(buffers[0]!, words)).toEqual([]);
    },
  );

  it.each([0, 1])("show an operation that is wrong in replica %i", async (replica) => {
    const { code, ...others } = inSubgroups(kernels.scans!);
    const struck = code.replace(
      "subgroupMax(v)",
      `(subgroupMax(v) ^ select(0u, 1u, belay_replica == ${replica}u && lane == 2u && s == 1u))`,
    );
    expect(struck).not.toBe(code);
    const { causes } = await run({ ...others, code: struck });
    // Both replicas of a lane in each of two workgroups.
    expect(causes).toEqual(new Array(4).fill(recordCause.mismatch));
  });
});

describe("the check of subgroups", () => {
  const changes: Record<string, readonly [string, string]> = {
    "lanes in another order": ["index == first + lane", "index == first + (lane ^ 1u)"],
    "inactive lanes": ["subgroupAdd(select(0u, 1u,", "subgroupAdd(select(0u, 1u, lane != 3u &&"],
    "neighbors from elsewhere on": [
      "let first = subgroupBroadcastFirst(index)",
      "let first = index - lane + 1u",
    ],
    "subgroups of two replicas": ["invocations % size != 0u", "(invocations + 1u) % size != 0u"],
  };

  it.each(Object.entries(changes))("finds %s", async (_, [before, after]) => {
    const { code, ...others } = inSubgroups(kernels.scans!);
    const changed = code.replace(before, after);
    expect(changed).not.toBe(code);
    const { causes } = await run({ ...others, code: changed });
    expect(new Set(causes)).toEqual(new Set([recordCause.subgroupsMixed]));
  });
});
