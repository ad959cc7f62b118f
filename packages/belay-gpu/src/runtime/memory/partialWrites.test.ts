/** Bytes of granules that commands keep, and the padding of buffers. */

import { BulkFlips } from "belay-research/internal/bench/ecc/flips";
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { MemoryCode } from "../../ecc/scheme.ts";
import { MemoryFaultError } from "../context/memoryFault.ts";
import type { OnFault } from "../context/policy.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

async function newProgram(memory: MemoryCode, onFault: OnFault = "throw") {
  const native = await sharedDevice();
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const device = await harden(native, { redundancy: "none", memory, onFault, injectFaults: true });
  const flips = new BulkFlips(native);
  const submit = (encode: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    device.queue.submit([encoder.finish()]);
  };
  return {
    device,
    submit,
    make: (bytes: number, fill: number) => {
      const buffer = device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC | COPY_DST });
      device.queue.writeBuffer(buffer, 0, new Uint8Array(bytes).fill(fill));
      return buffer;
    },
    /** Flips bits, also after the end of the program's buffer. */
    flip: (buffer: GPUBuffer, word: number, mask: number) => flips.flip(buffer, Uint32Array.of(word, mask)),
    read: async (buffer: GPUBuffer) => {
      const staging = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
      submit((encoder) => encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size));
      await staging.mapAsync(GPUMapMode.READ);
      const bytes = new Uint8Array(staging.getMappedRange()).slice();
      staging.destroy();
      return bytes;
    },
  };
}

const codes = ["secded32", "secded128", "secded1024", "detect", "checksum"] as const;

describe.each(codes)("under %s", (memory) => {
  it.each([
    ["between rows", 208, 0],
    ["between images", 916, 0],
    ["behind the last row", 1732, 0],
    ["beside texels that begin within a word", 0, 2],
  ])("verifies the bytes %s that a copy of texels keeps", async (_, at, offset) => {
    const { device, make, flip, read, submit } = await newProgram(memory);
    const format = offset === 0 ? "r32uint" : "r8uint";
    const texture = device.createTexture({
      size: [16, 3, 2],
      format,
      usage: GPUTextureUsage.COPY_SRC | GPUTextureUsage.COPY_DST,
    });
    const target = make(2048, 7);
    await device.belay.scrub();
    flip(target, at / 4, offset === 0 ? 1 << 9 : 1);
    submit((encoder) =>
      encoder.copyTextureToBuffer(
        { texture },
        { buffer: target, offset: offset === 0 ? 128 : offset, bytesPerRow: 256, rowsPerImage: 4 },
        [16, 3, 2],
      ),
    );
    const bytes = await read(target).catch((error) => error);
    if (memory === "detect" || memory === "checksum") expect(bytes).toBeInstanceOf(MemoryFaultError);
    else expect([bytes[at], bytes[at + 1], bytes[2047]]).toEqual([7, 7, 7]);
    device.destroy();
  });

  it("repairs any number of flips in padding", async () => {
    for (const heal of ["scrub", "write", "clear"]) {
      const { device, make, flip, read, submit } = await newProgram(memory);
      const buffer = make(20, 7);
      for (const word of [5, 6, 7]) flip(buffer, word, 0x101);
      if (heal === "write") device.queue.writeBuffer(buffer, 0, new Uint8Array(20).fill(7));
      if (heal === "clear") submit((encoder) => encoder.clearBuffer(buffer));
      await device.belay.scrub();
      expect(await read(buffer)).toEqual(new Uint8Array(20).fill(heal === "clear" ? 0 : 7));
      expect((await device.belay.report()).memory!.uncorrectable).toBe(0);
      device.destroy();
    }
  });
});
