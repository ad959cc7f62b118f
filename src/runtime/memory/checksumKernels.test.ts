import { expect, it } from "vitest";
import { testDevices } from "../../../test/testDevices.ts";
import { checksumOf, placesOf, slotStripes, slotWords, stripeWords } from "../../codes/checksum.ts";
import { bytesOfSlots, SUM } from "./checksumKernels.ts";

const { newDevice } = testDevices();

const places = placesOf(1000);

it.each([
  ["are added up", 1, 1, [0, 0]],
  ["are added up", 1025, 2, [0, 0]],
  ["are added up", 3001, 1, [0, 0]],
  ["are added up", 5000, 2, [0, 0]],
  ["are added up where another sum has other places", 1025, 2, [1, places + 1]],
  ["are left where another sum is of all words", 1025, 2, [1, places]],
] as const)("quads %s: %i, by %i workgroups, as by the host", async (what, quads, groups, condition) => {
  const device = await newDevice();
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const make = (size: number, usage: number) => device.createBuffer({ size, usage: STORAGE | usage });
  const words = Uint32Array.from({ length: 4 * quads }, (_, i) => Math.imul(i + 1, 0x9e3779b9));
  const [data, span] = [make(words.byteLength, COPY_DST), make(20, COPY_DST)];
  const slots = make(bytesOfSlots, COPY_SRC | COPY_DST);
  device.queue.writeBuffer(data, 0, words);
  device.queue.writeBuffer(span, 0, Uint32Array.of(1, 0, quads, ...condition));
  // The places of the sum before, in two of its stripes.
  device.queue.writeBuffer(slots, 4 * 2, Uint32Array.of(places - 5));
  device.queue.writeBuffer(slots, 4 * (63 * stripeWords + 2), Uint32Array.of(5));
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
      sum = (sum + sums[stripe * stripeWords + slot * slotWords + part]!) >>> 0;
    return sum;
  };
  expect([total(1, 0), total(1, 1)]).toEqual(what.includes("left") ? [0, 0] : checksumOf(words));
  expect(total(0, 0)).toBe(0);
});
