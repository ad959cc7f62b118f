/** Kernels that leave no bind group free for the report. */
import { describe, expect, it } from "vitest";
import { standInProtect } from "../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { protect } from "../compiler/protect.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

const { sharedDevice } = testDevices();

const GROUPS = 4;
const CODE = `
${[0, 1, 2, 3].map((group) => `@group(${group}) @binding(${group % 2}) var<storage, read_write> b${group}: array<u32>;`).join("\n")}
@compute @workgroup_size(4) fn add(@builtin(global_invocation_id) id: vec3u) {
  b3[id.x] = b0[id.x] + 10 * b1[id.x] + 100 * b2[id.x] + 1000 * b3[id.x];
}
@compute @workgroup_size(4) fn raise(@builtin(global_invocation_id) id: vec3u) { b3[id.x] += 1; }
@compute @workgroup_size(4) fn first(@builtin(global_invocation_id) id: vec3u) { b0[id.x] += 1; }
`;

const words = (count: number, value: number) => new Uint32Array(count).fill(value);

function bufferOf(device: GPUDevice, contents: Uint32Array<ArrayBuffer>): GPUBuffer {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffer = device.createBuffer({ size: contents.byteLength, usage });
  device.queue.writeBuffer(buffer, 0, contents);
  return buffer;
}

async function read(device: GPUDevice, buffer: GPUBuffer): Promise<number[]> {
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const readBack = device.createBuffer({ size: buffer.size, usage });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, readBack);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  return [...new Uint32Array(readBack.getMappedRange())];
}

interface Setup {
  readonly pipeline: (entryPoint: string) => Promise<GPUComputePipeline>;
  readonly groupsFor: (
    pipeline: GPUComputePipeline,
    buffers: readonly GPUBuffer[],
  ) => (GPUBindGroup | null)[];
  readonly offsets: readonly number[];
}

type Create = (device: GPUDevice, descriptor: GPUComputePipelineDescriptor) => Promise<GPUComputePipeline>;
const createNow: Create = async (device, descriptor) => device.createComputePipeline(descriptor);
const createLater: Create = (device, descriptor) => device.createComputePipelineAsync(descriptor);

/**
 * Default layouts: bind groups belong to one pipeline and contain the resources of its entry point.
 */
const withDefaultLayouts =
  (create: Create) =>
  (device: GPUDevice): Setup => {
    const module = device.createShaderModule({ code: CODE });
    const used: Record<string, readonly number[]> = { add: [0, 1, 2, 3], raise: [3], first: [0] };
    const entryPoints = new Map<GPUComputePipeline, string>();
    return {
      offsets: [],
      pipeline: async (entryPoint) => {
        const pipeline = await create(device, { layout: "auto", compute: { module, entryPoint } });
        entryPoints.set(pipeline, entryPoint);
        return pipeline;
      },
      groupsFor: (pipeline, buffers) =>
        buffers.map((buffer, index) =>
          used[entryPoints.get(pipeline)!]!.includes(index)
            ? device.createBindGroup({
                layout: pipeline.getBindGroupLayout(index),
                entries: [{ binding: index % 2, resource: { buffer } }],
              })
            : null,
        ),
    };
  };

/** One explicit layout for all pipelines, with shared bind groups and dynamic offsets. */
function withSharedLayout(device: GPUDevice): Setup {
  const module = device.createShaderModule({ code: CODE });
  const buffer = { type: "storage", hasDynamicOffset: true } as const;
  const bindGroupLayouts = Array.from({ length: GROUPS }, (_, index) =>
    device.createBindGroupLayout({
      entries: [{ binding: index % 2, visibility: GPUShaderStage.COMPUTE, buffer }],
    }),
  );
  const layout = device.createPipelineLayout({ bindGroupLayouts });
  return {
    offsets: [256],
    pipeline: (entryPoint) => createNow(device, { layout, compute: { module, entryPoint } }),
    groupsFor: (pipeline, buffers) =>
      buffers.map((buffer, index) =>
        device.createBindGroup({
          // The program may ask the pipeline for a layout that it created itself.
          layout: index === 0 ? pipeline.getBindGroupLayout(index) : bindGroupLayouts[index]!,
          entries: [{ binding: index % 2, resource: { buffer, size: 32 } }],
        }),
      ),
  };
}

async function run(device: GPUDevice, setup: (device: GPUDevice) => Setup): Promise<number[][]> {
  const { pipeline, groupsFor, offsets } = setup(device);
  const buffers = [1, 2, 3, 4].map((value) => bufferOf(device, words(72, value)));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  for (const entryPoint of ["add", "raise", "first", "add"]) {
    const each = await pipeline(entryPoint);
    pass.setPipeline(each);
    groupsFor(each, buffers).forEach((group, index) => {
      if (group) pass.setBindGroup(index, group, offsets);
    });
    pass.dispatchWorkgroups(2);
  }
  pass.end();
  device.queue.submit([encoder.finish()]);
  return Promise.all(buffers.map((buffer) => read(device, buffer)));
}

const setups = {
  "default layouts": withDefaultLayouts(createNow),
  "default layouts of pipelines made meanwhile": withDefaultLayouts(createLater),
  "a shared layout": withSharedLayout,
};

describe.each(Object.entries(setups))("four bind groups in use, %s", (_, setup) => {
  it.each([
    ["a stand-in", standInProtect, "intra+lds"],
    ["the compiler", protect, "intra+lds"],
    ["whole workgroups as replicas", protect, "inter"],
  ] as const)("run protected, with %s", async (_, compiler, redundancy) => {
    const plain = await sharedDevice();
    const expected = await run(plain, setup);
    const device = hardenWith(compiler, await sharedDevice(), { redundancy });
    expect(await run(device, setup)).toEqual(expected);
    const { kernels } = await device.belay.report();
    expect(kernels.map((kernel) => kernel.redundancy)).toEqual(new Array(3).fill(redundancy));
    expect(kernels.map(({ dispatches }) => dispatches)).toEqual([2, 1, 1]);
    plain.destroy();
    device.destroy();
  });

  it("recover from a fault", async () => {
    const device: HardenedDevice = hardenWith(standInProtect, await sharedDevice(), { injectFaults: true });
    const expected = await run(device, setup);
    for (const [kernel, site] of [
      ["add", 1],
      ["raise", 2],
    ] as const) {
      device.belay.arm({ kernel, site, replica: 0, effect: { xor: 1 }, workgroup: [0, 0, 0], localIndex: 5 });
      expect(await run(device, setup)).toEqual(expected);
    }
    expect(await device.belay.report()).toMatchObject({ replays: 2, recoveries: 2, giveUps: 0 });
    device.destroy();
  });
});

it("a pipeline's default layout does not show the report", async () => {
  const device = hardenWith(standInProtect, await sharedDevice());
  const code = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { out[id.x] = 7; }`;
  const compute = { module: device.createShaderModule({ code }) };
  for (const pipeline of [
    device.createComputePipeline({ layout: "auto", compute }),
    await device.createComputePipelineAsync({ layout: "auto", compute }),
  ]) {
    for (const index of [1, 2, 3]) {
      device.createBindGroup({ layout: pipeline.getBindGroupLayout(index), entries: [] });
    }
  }
  await device.belay.verify();
  device.destroy();
});
