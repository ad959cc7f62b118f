/** Buffers that end within a granule, or are smaller than one. */
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

const ADD = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(1) fn main() {
  for (var i = 0u; i < arrayLength(&words); i++) { words[i] += 100u; }
}`;

describe.each(["secded32", "secded128", "secded1024"] as const)("%s", (memory) => {
  it.each([4, 12, 20, 132])("protects %i bytes from the first to the last, on every path", async (size) => {
    const device = await harden(await sharedDevice(), { redundancy: "none", memory, injectFaults: true });
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const words = device.createBuffer({ label: "words", size, usage: STORAGE | COPY_SRC | COPY_DST });
    const read = device.createBuffer({ label: "read", size, usage: MAP_READ | COPY_DST });
    expect([words.size, read.size]).toEqual([size, size]);
    const contents = Uint32Array.from({ length: size / 4 }, (_, i) => i + 1);
    device.queue.writeBuffer(words, 0, contents);
    device.belay.flip(words, size - 4, 1 << 20);

    const compute = { module: device.createShaderModule({ code: ADD }) };
    const pipeline = device.createComputePipeline({ layout: "auto", compute });
    const layout = pipeline.getBindGroupLayout(0);
    const group = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: words } }] });
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 1);
    encoder.copyBufferToBuffer(words, read);
    device.queue.submit([encoder.finish()]);
    device.belay.flip(read, size - 4, 1 << 3);
    await read.mapAsync(GPUMapMode.READ);
    expect([...new Uint32Array(read.getMappedRange())]).toEqual([...contents].map((word) => word + 100));
    read.unmap();
    await device.belay.scrub();
    const { buffers, uncorrectable } = (await device.belay.report()).memory!;
    // A kernel corrects loads in registers, and here it overwrites the memory.
    const found = buffers.map(({ label, corrected, correctedLoads }) => [label, corrected + correctedLoads]);
    expect(found).toEqual([
      ["words", 1],
      ["read", 1],
    ]);
    expect(uncorrectable).toBe(0);
    device.destroy();
  });
});

it("copies damaged contents of a mapped buffer again, and reports that", async () => {
  const device = await harden(await sharedDevice(), {
    redundancy: "intra+lds",
    memory: "secded128",
    injectFaults: true,
  });
  const { COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const words = device.createBuffer({ size: 20, usage: COPY_SRC | COPY_DST });
  const read = device.createBuffer({ label: "read", size: 20, usage: MAP_READ | COPY_DST });
  device.queue.writeBuffer(words, 0, Uint32Array.of(1, 2, 3, 4, 5));
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(words, read);
  device.queue.submit([encoder.finish()]);
  device.belay.flip(read, 16, 0b11);
  await read.mapAsync(GPUMapMode.READ);
  expect([...new Uint32Array(read.getMappedRange())]).toEqual([1, 2, 3, 4, 5]);
  const { memoryFaults } = await device.belay.report();
  expect(memoryFaults).toMatchObject([{ buffer: "read", byteOffset: 16, outcome: "recovered" }]);
  device.destroy();
});

it.each(["checksum", "secded32"] as const)(
  "maps no bytes that the program did not ask for: %s",
  async (memory) => {
    const device = await harden(await sharedDevice(), { redundancy: "none", memory });
    const { COPY_SRC, COPY_DST, MAP_READ, MAP_WRITE } = GPUBufferUsage;
    const written = device.createBuffer({ size: 20, usage: MAP_WRITE | COPY_SRC });
    const read = device.createBuffer({ size: 20, usage: MAP_READ | COPY_DST });
    const words = Uint32Array.of(1, 2, 3, 4, 5);
    await written.mapAsync(GPUMapMode.WRITE);
    new Uint32Array(written.getMappedRange()).set(words);
    written.unmap();
    await written.mapAsync(GPUMapMode.WRITE, 8, 0);
    written.unmap();
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(written, 0, read, 0, 20);
    device.queue.submit([encoder.finish()]);
    await read.mapAsync(GPUMapMode.READ, 0, 0);
    read.unmap();
    await read.mapAsync(GPUMapMode.READ);
    expect(new Uint32Array(read.getMappedRange())).toEqual(words);
    read.unmap();
    const none = device.createBuffer({ size: 0, usage: COPY_DST, mappedAtCreation: true });
    none.unmap();
    expect((await device.belay.report()).memoryFaults).toEqual([]);
    device.destroy();
  },
);
