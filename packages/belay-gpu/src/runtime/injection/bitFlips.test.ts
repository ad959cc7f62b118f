import { harden } from "belay-gpu";
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";

const { sharedDevice } = testDevices();

describe("bits that cannot be flipped are refused", () => {
  it("in what is no buffer of the device", async () => {
    const native = await sharedDevice();
    const [device, other] = [harden(native, { injectFaults: true }), harden(native, { injectFaults: true })];
    const make = (from: GPUDevice) => from.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE });
    for (const buffer of [undefined, {}, make(native), make(other)])
      expect(() => device.belay.flip(buffer as GPUBuffer, 0, 1)).toThrow(
        new TypeError("buffer must be a buffer that this device created"),
      );
    device.belay.flip(make(device), 0, 1);
    device.destroy();
  });

  it("by a mask that is no word, or has no bit", async () => {
    const device = harden(await sharedDevice(), { injectFaults: true });
    const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE });
    for (const mask of [0, 2 ** 32, -(2 ** 31) - 1, 1.5, Number.NaN, undefined, "1"])
      expect(() => device.belay.flip(buffer, 0, mask as number)).toThrow(
        new TypeError(`mask must be a word with a set bit, 1 to 2 ** 32 - 1, not ${mask}`),
      );
    for (const mask of [1, 2 ** 32 - 1, 1 << 31]) device.belay.flip(buffer, 0, mask);
    device.destroy();
  });

  it("in a buffer that is still mapped at its creation", async () => {
    const device = harden(await sharedDevice(), { injectFaults: true });
    const usage = GPUBufferUsage.STORAGE;
    const buffer = device.createBuffer({ size: 16, usage, mappedAtCreation: true });
    expect(() => device.belay.flip(buffer, 0, 1)).toThrow(
      /mapped at its creation can be flipped after unmap/,
    );
    buffer.unmap();
    device.belay.flip(buffer, 0, 1);
    device.destroy();
  });

  it("in a buffer with MAP_WRITE, outside of the range that is mapped", async () => {
    const device = harden(await sharedDevice(), {
      injectFaults: true,
      memory: "detect",
      onFault: "report",
      redundancy: "none",
    });
    const { MAP_WRITE, MAP_READ, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const upload = device.createBuffer({ size: 64, usage: MAP_WRITE | COPY_SRC });
    const staging = device.createBuffer({ size: 64, usage: MAP_READ | COPY_DST });
    const outside = /MAP_WRITE can be flipped only where it is mapped, not at 4$/;
    expect(() => device.belay.flip(upload, 4, 8)).toThrow(outside);
    await upload.mapAsync(GPUMapMode.WRITE, 32);
    expect(() => device.belay.flip(upload, 4, 8)).toThrow(outside);
    device.belay.flip(upload, 36, 8);
    upload.unmap();
    expect(() => device.belay.flip(upload, 4, 8)).toThrow(outside);
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(upload, staging);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const expected = new Uint32Array(16);
    expected[9] = 8;
    expect(new Uint32Array(staging.getMappedRange())).toEqual(expected);
    device.destroy();
  });
});
