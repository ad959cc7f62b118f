/**
 * A damaged granule stays damaged until all of it is replaced, whichever parts of it are written.
 */

import { BulkFlips } from "belay-research/internal/bench/ecc/flips";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { type MemoryFault, MemoryFaultError } from "../context/memoryFault.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

const WORDS = 256;
const BYTES = 4 * WORDS;

/** Creates a device with protected memory, and a function that flips bits of it. */
async function openMemory(memory: NonNullable<Policy["memory"]>) {
  const native = await sharedDevice();
  const device = await harden(native, { redundancy: "none", memory });
  const faults: MemoryFault[] = [];
  device.belay.addEventListener("memoryFault", ({ detail }) => faults.push(detail));
  return { device, faults, flips: new BulkFlips(native) };
}

/** Creates a buffer whose words are all 5, and another one that the host reads. */
function newProgram({ device, flips }: Awaited<ReturnType<typeof openMemory>>) {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const buffer = device.createBuffer({ size: BYTES, usage: STORAGE | COPY_SRC | COPY_DST });
  device.queue.writeBuffer(buffer, 0, new Uint32Array(WORDS).fill(5));
  const staging = device.createBuffer({ size: BYTES, usage: MAP_READ | COPY_DST });
  const submit = (encode: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    device.queue.submit([encoder.finish()]);
  };
  const map = async () => {
    await staging.mapAsync(GPUMapMode.READ);
    const words = [...new Uint32Array(staging.getMappedRange())];
    staging.unmap();
    return words;
  };
  return {
    device,
    buffer,
    staging,
    submit,
    map,
    flip: (...pairs: number[]) => flips.flip(buffer, Uint32Array.from(pairs)),
    read: () => {
      submit((encoder) => encoder.copyBufferToBuffer(buffer, staging));
      return map();
    },
  };
}

type Program = ReturnType<typeof newProgram>;

/** The words with flips that the codes cannot correct, with the mask of each. */
const damages = [
  ["detect", [8, 1]],
  ["checksum", [8, 1]],
  ["checksum", [200, 1]],
  ["auto-detect", [200, 1]],
  ["secded128", [8, 3]],
  ["secded128", [8, 1, 9, 1]],
  ["secded64", [8, 3]],
  ["secded32", [8, 3]],
  ["auto", [8, 3]],
] as const;

/** The ways to write to a part of the damaged granule. */
const writes: Record<string, (program: Program) => void> = {
  "a write": ({ device, buffer }) => device.queue.writeBuffer(buffer, 40, Uint32Array.of(7)),
  "two writes": ({ device, buffer }) => {
    device.queue.writeBuffer(buffer, 40, Uint32Array.of(7));
    device.queue.writeBuffer(buffer, 44, Uint32Array.of(7));
  },
  "a write behind a copy": ({ device, buffer, staging, submit }) => {
    submit((encoder) => encoder.copyBufferToBuffer(buffer, 512, staging, 0, 512));
    device.queue.writeBuffer(buffer, 40, Uint32Array.of(7));
  },
  "a clear": ({ buffer, submit }) => submit((encoder) => encoder.clearBuffer(buffer, 40, 4)),
  "a copy within it": ({ device, buffer, submit }) => {
    const { COPY_SRC } = GPUBufferUsage;
    const other = device.createBuffer({ size: 16, usage: COPY_SRC });
    submit((encoder) => encoder.copyBufferToBuffer(other, 0, buffer, 40, 4));
  },
  texels: ({ device, buffer, submit }) => {
    const texture = device.createTexture({
      size: [1, 1],
      format: "r32uint",
      usage: GPUTextureUsage.COPY_SRC,
    });
    submit((encoder) => encoder.copyTextureToBuffer({ texture }, { buffer, offset: 40 }, [1, 1]));
  },
};

describe.each(damages)("%s, flips in words %j", (memory, pairs) => {
  let opened: Awaited<ReturnType<typeof openMemory>>;
  beforeAll(async () => {
    opened = await openMemory(memory);
  });
  afterAll(() => opened.device.destroy());

  it.each(
    Object.keys(writes).flatMap(
      (write) =>
        [
          [write, "at once"],
          [write, "after a check"],
        ] as const,
    ),
  )("%s, read %s", async (write, when) => {
    const { device, faults } = opened;
    faults.length = 0;
    const program = newProgram(opened);
    const { flip, read, buffer, staging } = program;
    expect(await read()).toEqual(new Array(WORDS).fill(5));
    flip(...pairs);
    writes[write]!(program);
    if (when === "after a check") await device.belay.verify().catch(() => {});
    await expect(read()).rejects.toBeInstanceOf(MemoryFaultError);
    await expect(read()).rejects.toBeInstanceOf(MemoryFaultError);
    await expect(device.belay.scrub()).rejects.toBeInstanceOf(MemoryFaultError);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.filter(({ outcome }) => outcome !== "refused")).toEqual([]);
    device.queue.writeBuffer(buffer, 0, new Uint32Array(WORDS).fill(6));
    expect(await read()).toEqual(new Array(WORDS).fill(6));
    await device.belay.scrub();
    for (const made of [buffer, staging]) made.destroy();
  });
});
