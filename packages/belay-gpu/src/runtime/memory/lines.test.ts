/** Kernels that check whole cache lines, on ranges that end within a line. */
import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { newDevice } = testDevices({ full: true });

const COPY = `
  @group(0) @binding(0) var<storage, read> a: array<vec2u>;
  @group(0) @binding(1) var<storage, read_write> b: array<vec2u>;
  @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x < arrayLength(&a)) { b[id.x] = a[id.x] + 1u; }
  }`;

it.each([
  ["a whole buffer", 0, 26],
  ["a part of a buffer", 256, 14],
])("of %s", async (_, offset, count) => {
  const device = await harden(await newDevice(), {
    redundancy: "none",
    memory: "secded256",
    onFault: "throw",
    injectFaults: true,
  });
  const words = offset / 4 + count;
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const make = (usage: number) => device.createBuffer({ size: 4 * words, usage: usage | COPY_DST });
  const [a, b, reader] = [make(STORAGE), make(STORAGE | COPY_SRC), make(MAP_READ)];
  const compute = { module: device.createShaderModule({ code: COPY }) };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const layout = pipeline.getBindGroupLayout(0);
  const entries = [a, b].map((buffer, binding) => ({ binding, resource: { buffer, offset } }));
  const group = device.createBindGroup({ layout, entries });
  const content = Uint32Array.from({ length: words }, (_, i) => Math.imul(i + 1, 0x9e3779b9));
  device.queue.writeBuffer(a, 0, content);
  device.queue.writeBuffer(b, 0, content);
  // The last word, whose line is not full.
  device.belay.flip(a, 4 * (words - 1), 1 << 13);
  const encoder = device.createCommandEncoder();
  encodeDispatch(encoder, pipeline, group, 4);
  encoder.copyBufferToBuffer(b, 0, reader, 0, 4 * words);
  device.queue.submit([encoder.finish()]);
  await reader.mapAsync(GPUMapMode.READ);
  const expected = content.map((word, i) => (4 * i < offset ? word : word + 1));
  expect(new Uint32Array(reader.getMappedRange())).toEqual(expected);
  const { memory, kernels } = await device.belay.report();
  expect([memory!.uncorrectable, memory!.corrected > 0]).toEqual([0, true]);
  expect(kernels.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))).not.toContain("BELAY216");
  device.destroy();
});
