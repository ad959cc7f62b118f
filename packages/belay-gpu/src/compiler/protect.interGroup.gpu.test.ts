import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { type FeatureKernel, featureKernels } from "../../../../test/support/kernels/featureKernels.ts";
import { type Host, runKernel, runTwins } from "../../../../test/support/kernels/kernelRunner.ts";
import { sample } from "../../../../test/support/sample.ts";
import { type CompilerOptions, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

async function expectSameBits(kernel: FeatureKernel, options: CompilerOptions, host: Host = {}) {
  const constants = kernel.constants ?? {};
  const result = protect(kernel.code, { redundancy: "inter", ...options, constants });
  expect(result.diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  expect(result.entryPoints.map((e) => e.redundancy)).not.toContain("none");
  const plain = await runKernel(device, kernel.code, kernel, {}, host);
  const guarded = await runTwins(device, result, kernel, {}, host);
  expect(guarded.report[reportWords.detections]).toBe(0);
  expect(guarded.cells.filter((cell) => cell !== 0)).toHaveLength(0);
  for (const binding of Object.keys(plain.buffers).map(Number)) {
    if (kernel.unordered?.includes(binding))
      for (const { buffers } of [plain, guarded]) buffers[binding]!.sort();
    expect(guarded.buffers[binding]).toEqual(plain.buffers[binding]);
    if (guarded.shadows[binding]) expect(guarded.shadows[binding]).toEqual(plain.buffers[binding]);
  }
}

const checks = [{ check: "signature", features: ["subgroups"] }, { check: "store" }] as const;

describe.each(featureKernels.map((kernel, row) => ({ ...kernel, row })))("$name", ({ row, ...kernel }) => {
  it.each(sample(checks, row, 1))("inter, $check: same bits, no detection, all in balance", (options) =>
    expectSameBits(kernel, options),
  );
});

describe("in place, replicas", () => {
  const update = (type: string, change: string, workgroups = 2): FeatureKernel => ({
    name: change,
    code: `
      @group(0) @binding(0) var<storage, read_write> a: array<${type}>;
      @compute @workgroup_size(40) fn main(@builtin(global_invocation_id) id: vec3u) {
        if (id.x >= 70u) { return; }
        ${change}
      }`,
    buffers: { 0: Uint32Array.from({ length: 80 }, (_, i) => 0x3f800000 + 40503 * i) },
    workgroups: [workgroups, 1, 1],
  });
  it.each([
    // Floats that another pipeline might round in another way.
    update("f32", "a[id.x] = fma(a[id.x], 0.3, sin(a[id.x]) * 0.7);"),
    update("u32", "if (a[id.x] % 3u == 0u) { a[id.x] /= 3u; } else if (id.x % 2u == 0u) { a[id.x] *= 3u; }"),
    // No place is known where they would arrive.
    update("f32", "switch id.x % 2u { case 0: { a[id.x] *= 0.3; } default: { a[id.x] += sin(a[id.x]); } }"),
  ])("run at once and sequentially: $name", async (kernel) => {
    for (const options of [{ features: ["subgroups"] }, {}])
      for (const host of [{}, { sequentialReplicas: true }, { dimension: 1 }, { missing: [0, 0] }] as const)
        await expectSameBits(kernel, options, host);
  });
});

describe.each([0, 1, 2] as const)("a grid doubled in dimension %i", (dimension) => {
  const inAllDimensions = featureKernels.find(({ name }) => name.startsWith("two- and three"))!;
  it.each(["signature", "store"] as const)("shows the kernel its own, with %s", async (check) => {
    await expectSameBits(inAllDimensions, { check }, { dimension });
    await expectSameBits(inAllDimensions, { check }, { dimension, byReport: true });
  });
});

describe("several dispatches", () => {
  const inPlace = featureKernels.find(({ name }) => name.startsWith("in place"))!;
  it.each(["signature", "store"] as const)("need no reset between, with %s", (check) =>
    expectSameBits({ ...inPlace, workgroups: [1, 1, 1] }, { check }, { missing: [0, 0, 0] }),
  );
});

it("leaves a kernel its subgroups", () =>
  expectSameBits(
    {
      name: "sums of subgroups",
      code: `
        enable subgroups;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(32) fn main(
          @builtin(global_invocation_id) id: vec3u, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32
        ) {
          out[id.x] = subgroupInclusiveAdd(id.x) + 1000u * lane + 1000000u * size;
        }`,
      buffers: { 0: new Uint32Array(96) },
      workgroups: [3, 1, 1],
    },
    { check: "signature" },
  ));
