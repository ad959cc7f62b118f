/** Programs that create bind groups with the same contents again and again. */
import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { newDevice } = testDevices();

const CODE = `
  @group(0) @binding(0) var<storage, read> a: array<vec4u>;
  @group(0) @binding(1) var<storage, read_write> b: array<vec4u>;
  @compute @workgroup_size(4) fn one(@builtin(global_invocation_id) id: vec3u) { b[id.x] = a[id.x] + 1u; }
  @compute @workgroup_size(4) fn two(@builtin(global_invocation_id) id: vec3u) { b[id.x] = a[id.x] + 2u; }`;

async function prepare() {
  const native = await newDevice();
  let made = 0;
  const device = await harden(
    new Proxy(native, {
      get: (_, name) => {
        const value: unknown = Reflect.get(native, name, native);
        if (name === "createBindGroup") made++;
        return typeof value === "function" ? value.bind(native) : value;
      },
    }),
    { redundancy: "none", memory: "secded128", onFault: "throw" },
  );
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const module = device.createShaderModule({ code: CODE });
  const [one, two] = ["one", "two"].map((entryPoint) =>
    device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } }),
  );
  const [a, b, reader] = [STORAGE, STORAGE | COPY_SRC, MAP_READ].map((usage) =>
    device.createBuffer({ size: 512, usage: usage | COPY_DST }),
  );
  device.queue.writeBuffer(
    a!,
    0,
    Uint32Array.from({ length: 128 }, (_, i) => i),
  );
  /** Dispatches with a bind group for the layout of `of`. Reads the first word of both halves. */
  const run = async (pipeline: GPUComputePipeline, of: GPUComputePipeline, entries: GPUBindGroupEntry[]) => {
    const group = device.createBindGroup({ layout: of.getBindGroupLayout(0), entries });
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 1);
    encoder.copyBufferToBuffer(b!, 0, reader!, 0, 512);
    device.queue.submit([encoder.finish()]);
    await reader!.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(reader!.getMappedRange());
    const read = [words[0], words[64]];
    reader!.unmap();
    return read;
  };
  const halves = (offset: number): GPUBindGroupEntry[] =>
    [a!, b!].map((buffer, binding) => ({ binding, resource: { buffer, offset, size: 256 } }));
  return { device, run, halves, one: one!, two: two!, made: () => made };
}

it("extends equal bind groups once, and tells apart their offsets and changed descriptors", async () => {
  const { run, halves, one, made } = await prepare();
  expect(await run(one, one, halves(0))).toEqual([1, 0]);
  const first = made();
  expect(await run(one, one, halves(0))).toEqual([1, 0]);
  expect(made()).toBe(first + 1);
  const entries = halves(256);
  expect(await run(one, one, entries)).toEqual([1, 65]);
  // The program may change its descriptor and use it again.
  for (const { resource } of entries) (resource as GPUBufferBinding).offset = 0;
  await run(one, one, entries);
  expect(await run(one, one, halves(256))).toEqual([1, 65]);
});

it("rejects a bind group for another pipeline's layout, also if an equal one was accepted", async () => {
  const { device, run, halves, one, two } = await prepare();
  expect(await run(two, two, halves(0))).toEqual([2, 0]);
  expect(await run(one, one, halves(0))).toEqual([1, 0]);
  device.pushErrorScope("validation");
  expect(await run(two, one, halves(0))).toEqual([1, 0]);
  expect(await device.popErrorScope()).not.toBeNull();
});
