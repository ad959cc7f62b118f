/**
 * No kernel stays unprotected silently. By default a kernel gets the flavor that fits it, and a
 * kernel without one is reported.
 */

import { readBuffers } from "belay-research/internal/workloads/buffers";
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import type { BelayEvent } from "./context/events.ts";
import type { Policy } from "./context/policy.ts";
import { harden } from "./harden.ts";

const small = testDevices();
const full = testDevices({ full: true });

let warned: MockInstance;
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => warned.mockRestore());

const guarded = (size: number) => `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(${size}) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&data)) { data[id.x] = data[id.x] * 3 + 1; }
}`;

const sums = `enable subgroups;
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  data[id.x] = subgroupAdd(input[id.x]);
}`;

/** A texture that is loaded and stored, and subgroup operations: no flavor supports both. */
const alone = `enable subgroups;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var image: texture_storage_2d<r32uint, read_write>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let at = vec2u(id.x, 0);
  data[id.x] = subgroupAdd(textureLoad(image, at).x);
  textureStore(image, at, vec4u(data[id.x]));
}`;

const atomics = `
@group(0) @binding(0) var<storage, read_write> data: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { atomicAdd(&data[id.x % 8], 1u); }`;

/** Workgroups that wait for each other. */
const barrier = `
@group(0) @binding(0) var<storage, read_write> arrived: atomic<u32>;
@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) local: u32, @builtin(num_workgroups) groups: vec3u) {
  if (local == 0u) {
    atomicAdd(&arrived, 1u);
    while (atomicLoad(&arrived) < groups.x) {}
  }
}`;

async function pipelineOn(device: GPUDevice, code: string, label = ""): Promise<GPUComputePipeline> {
  const module = device.createShaderModule({ code });
  return device.createComputePipelineAsync({ label, layout: "auto", compute: { module } });
}

describe("a device hardened without a policy", () => {
  it("protects a kernel as large as the device allows", async () => {
    const native = await small.sharedDevice();
    const device = await harden(native);
    const most = device.limits.maxComputeInvocationsPerWorkgroup;
    await pipelineOn(device, guarded(most));
    const { kernels } = await device.belay.report();
    expect(kernels).toMatchObject([{ diagnostics: [] }]);
    expect(kernels[0]!.redundancy).not.toBe("none");
    expect(warned).not.toHaveBeenCalled();
    native.destroy();
  });

  it("protects a kernel with subgroup operations, and says that a lane runs both replicas", async () => {
    const native = await full.sharedDevice();
    const device = await harden(native);
    await pipelineOn(device, sums);
    const [kernel] = (await device.belay.report()).kernels;
    expect(kernel!.redundancy).toBe("intra+lds");
    expect(kernel!.diagnostics.map(({ code, message }) => [code, message])).toEqual([
      ["BELAY210", expect.stringMatching(/^each lane of "main" stays outside/)],
    ]);
    expect(warned).not.toHaveBeenCalled();
    native.destroy();
  });
});

describe("a kernel that stays unprotected", () => {
  const subgroups: Policy = { redundancy: "intra+lds" };

  it("is an event, once for each kernel, and no warning if a listener prevents it", async () => {
    const native = await full.sharedDevice();
    const device = await harden(native, subgroups);
    const heard = vi.fn((event: BelayEvent<"unprotected">) => event.preventDefault());
    device.belay.addEventListener("unprotected", heard);
    await pipelineOn(device, sums, "first");
    await pipelineOn(device, sums, "first");
    device.createComputePipeline({
      label: "second",
      layout: "auto",
      compute: { module: device.createShaderModule({ code: sums }) },
    });
    await device.belay.report();
    expect(
      heard.mock.calls.map(
        ([
          {
            detail: { kernel, redundancy, diagnostics },
          },
        ]) => [kernel, redundancy, diagnostics.map(({ code, line }) => `${code} ${line}`)],
      ),
    ).toEqual([
      ["first", "none", ["BELAY203 5"]],
      ["second", "none", ["BELAY203 5"]],
    ]);
    expect(warned).not.toHaveBeenCalled();
    native.destroy();
  });

  it("is a warning if no listener prevents it, one for each kernel", async () => {
    const native = await full.sharedDevice();
    const device = await harden(native, subgroups);
    device.belay.addEventListener("unprotected", () => {});
    for (let i = 0; i < 3; i++) await pipelineOn(device, sums, "mine");
    expect(warned.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^belay: kernel "mine" is not protected as the policy asks\n {2}5:\d+ BELAY203 subgroup-operations: "main" is left/,
        ),
      ],
    ]);
    native.destroy();
  });

  it.each(["auto", "inter"] as const)(
    "is one whose workgroups wait for each other, under %s",
    async (redundancy) => {
      const device = await harden(await full.sharedDevice(), { redundancy });
      const pipeline = await pipelineOn(device, barrier);
      const { STORAGE, COPY_SRC } = GPUBufferUsage;
      const buffer = device.createBuffer({ size: 4, usage: STORAGE | COPY_SRC });
      const entries = [{ binding: 0, resource: { buffer } }];
      const layout = pipeline.getBindGroupLayout(0);
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
      // Software adapters do not promise that two workgroups make progress at the same time.
      pass.dispatchWorkgroups(1);
      pass.end();
      device.queue.submit([encoder.finish()]);
      expect([...new Uint32Array(await readBuffers(device, buffer))]).toEqual([1]);
      const [kernel] = (await device.belay.report()).kernels;
      expect(kernel!.redundancy).toBe("none");
      expect(kernel!.diagnostics.map(({ code }) => code)).toContain("BELAY217");
      device.destroy();
    },
  );

  it("is reported with the reasons of all flavors if none fits", async () => {
    const native = await full.sharedDevice();
    const device = await harden(native);
    await pipelineOn(device, alone);
    const [{ redundancy, diagnostics }] = (await device.belay.report()).kernels as never as [
      { redundancy: string; diagnostics: { code: string; help?: string }[] },
    ];
    expect(redundancy).toBe("none");
    const codes = diagnostics.map(({ code }) => code);
    expect(codes).toContain("BELAY203");
    expect(codes).toContain("BELAY214");
    expect(diagnostics.some(({ help }) => help?.includes("flavor"))).toBe(false);
    expect(warned).toHaveBeenCalledOnce();
    native.destroy();
  });

  it("is a warning with its place in the compilation info, before and after its pipeline is created", async () => {
    const native = await full.sharedDevice();
    const device = await harden(native, subgroups);
    const module = device.createShaderModule({ code: sums });
    const expected = [
      {
        type: "warning",
        lineNum: 5,
        linePos: 16,
        offset: sums.indexOf("subgroupAdd"),
        length: "subgroupAdd(input[id.x])".length,
        message: expect.stringContaining("BELAY203"),
      },
    ];
    expect((await module.getCompilationInfo()).messages).toMatchObject(expected);
    await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
    expect((await module.getCompilationInfo()).messages).toMatchObject(expected);
    const covered = device.createShaderModule({ code: guarded(64) });
    expect((await covered.getCompilationInfo()).messages).toEqual([]);
    native.destroy();
  });

  it("is not reported if the policy asks for no protection, or if the program's module is invalid", async () => {
    const native = await small.sharedDevice({ errorsAreExpected: true });
    const device = await harden(native, { redundancy: "none" });
    await pipelineOn(device, guarded(64));
    native.pushErrorScope("validation");
    const module = (await harden(native)).createShaderModule({ code: "fn main( {" });
    await native.popErrorScope();
    const { messages } = await module.getCompilationInfo();
    expect(new Set(messages.map(({ type }) => type))).toEqual(new Set(["error"]));
    native.pushErrorScope("validation");
    await expect(pipelineOn(await harden(native), "fn main( {")).rejects.toThrow();
    await native.popErrorScope();
    expect(warned).not.toHaveBeenCalled();
    native.destroy();
  });
});

it("includes memory that a kernel cannot check", async () => {
  const native = await small.sharedDevice();
  const device = await harden(native, { redundancy: "none", memory: "secded128" });
  await pipelineOn(device, atomics, "bins");
  expect(warned.mock.calls).toEqual([[expect.stringContaining('belay: kernel "bins" is not protected as')]]);
  expect(warned.mock.calls[0]![0]).toContain("BELAY216");
  native.destroy();
});
