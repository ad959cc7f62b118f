/** Kernels whose replicas are whole workgroups: their grids are doubled, and nobody sees it. */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../test/testDevices.ts";
import { harden } from "./harden.ts";
import { front } from "./nativeObjects.ts";
import type { Policy } from "./policy.ts";

const { newDevice } = testDevices();

const CODE = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(2) fn number(
  @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) i: u32
) {
  let at = group.x + groups.x * (group.y + groups.y * group.z);
  out[2 * at + i] = 1000000 * groups.z + 10000 * groups.y + 100 * groups.x + at;
}`;

/** The same device with a lower limit on workgroups per dimension. */
function withLimit(device: GPUDevice, maxComputeWorkgroupsPerDimension: number): GPUDevice {
  return front(device, { limits: front(device.limits, { maxComputeWorkgroupsPerDimension }) });
}
const policy: Policy = { redundancy: "inter" };
type Grid = readonly [number, number, number];

async function number(device: GPUDevice, grid: Grid, bytes = 1024): Promise<number[]> {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const out = device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC });
  const readBack = device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });
  const module = device.createShaderModule({ code: CODE });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const entries = [{ binding: 0, resource: { buffer: out } }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(...grid);
  pass.end();
  encoder.copyBufferToBuffer(out, readBack);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  return [...new Uint32Array(readBack.getMappedRange())];
}

describe("a grid", () => {
  const limited: readonly Grid[] = [
    [4, 3, 2],
    [8, 3, 2],
    [8, 8, 2],
    [5, 7, 1],
    [3, 0, 1],
  ];
  it.each(limited)("of %i by %i by %i workgroups is doubled where there is room", async (...grid) => {
    const plain = await newDevice();
    const native = await newDevice();
    const device = await harden(withLimit(native, 8), policy);
    expect(await number(device, grid)).toEqual(await number(plain, grid));
    expect(await device.belay.report()).toMatchObject({
      faults: [],
      kernels: [{ redundancy: "inter", dispatches: 1 }],
    });
    plain.destroy();
    native.destroy();
  });
});
