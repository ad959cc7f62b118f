import { expect, it } from "vitest";
import { testDevices } from "../../../test/testDevices.ts";
import { checksumOf, slotStripes, stripeWords } from "../../codes/checksum.ts";
import { bytesOfSlot, SUM } from "./checksumKernels.ts";

const { newDevice } = testDevices();

it.each([
  [1, 1],
  [1025, 2],
  [3001, 1],
  [5000, 2],
])("%i quads are added up by %i workgroups as by the host", async (quads, groups) => {
  const device = await newDevice();
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const make = (size: number, usage: number) => device.createBuffer({ size, usage: STORAGE | usage });
  const words = Uint32Array.from({ length: 4 * quads }, (_, i) => Math.imul(i + 1, 0x9e3779b9));
  const [data, span] = [make(words.byteLength, COPY_DST), make(12, COPY_DST)];
  const slots = make(2 * bytesOfSlot, COPY_SRC);
  device.queue.writeBuffer(data, 0, words);
  device.queue.writeBuffer(span, 0, Uint32Array.of(1, 0, quads));
  const module = device.createShaderModule({ code: SUM });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = [data, slots, span].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(groups);
  pass.end();
  const reader = device.createBuffer({ size: slots.size, usage: MAP_READ | COPY_DST });
  encoder.copyBufferToBuffer(slots, reader);
  device.queue.submit([encoder.finish()]);
  await reader.mapAsync(GPUMapMode.READ);
  const sums = new Uint32Array(reader.getMappedRange());
  const total = (slot: number, part: number) => {
    let sum = 0;
    for (let stripe = 0; stripe < slotStripes; stripe++)
      sum = (sum + sums[(slot * slotStripes + stripe) * stripeWords + part]!) >>> 0;
    return sum;
  };
  expect([total(1, 0), total(1, 1)]).toEqual(checksumOf(words));
  expect(total(0, 0)).toBe(0);
});
