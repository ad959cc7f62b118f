import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { checksumOf, placesOf, slotStripes, slotWords, stripeWords } from "../../ecc/checksum.ts";
import { bytesOfSlots, partsAtOnce, SUM, sumList } from "./checksumKernels.ts";

const { newDevice } = testDevices();

const places = placesOf(1000);

it.each([
  ["are added up", [1], 1, undefined],
  ["are added up", [1025], 2, undefined],
  ["are added up", [3001], 1, undefined],
  ["are added up", [5000], 2, undefined],
  ["of several buffers are added up", [1025, 3, 2049], 2, undefined],
  ["are added up where another sum has other places", [1025, 7], 2, places + 1],
  ["are left where another sum is of all words", [1025, 7], 2, places],
] as const)("quads %s as on the host: %j, by %i workgroups each", async (what, quads, groups, wanted) => {
  const device = await newDevice();
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const make = (size: number, usage: number) => device.createBuffer({ size, usage: STORAGE | usage });
  const words = quads.map((count) =>
    Uint32Array.from({ length: 4 * count }, (_, i) => Math.imul(i + count, 0x9e3779b9)),
  );
  const data = words.map(({ byteLength }) => make(byteLength, COPY_DST));
  const instead = wanted === undefined ? undefined : { number: 0, places: wanted };
  const parts = quads.map((count, i) => ({ slot: 1 + i, quad: 0, count, instead }));
  const list = make(4 * sumList(parts).length, COPY_DST);
  const slots = make(bytesOfSlots, COPY_SRC | COPY_DST);
  for (const [i, buffer] of data.entries()) device.queue.writeBuffer(buffer, 0, words[i]!);
  device.queue.writeBuffer(list, 0, Uint32Array.from(sumList(parts)));
  // The places of an earlier sum, in two of its stripes.
  device.queue.writeBuffer(slots, 4 * 2, Uint32Array.of(places - 5));
  device.queue.writeBuffer(slots, 4 * (63 * stripeWords + 2), Uint32Array.of(5));
  const module = device.createShaderModule({ code: SUM });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const bound = Array.from({ length: partsAtOnce }, (_, i) => data[i] ?? data[0]!);
  const entries = [slots, list, ...bound].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const encoder = device.createCommandEncoder();
  encodeDispatch(
    encoder,
    pipeline,
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
    groups * quads.length,
  );
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
  for (const [i, each] of words.entries())
    expect([total(1 + i, 0), total(1 + i, 1)]).toEqual(what.includes("left") ? [0, 0] : checksumOf(each));
  expect(total(0, 0)).toBe(0);
});
