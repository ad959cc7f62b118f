import { expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";
import { Constants, KEPT_PAGES, PAGE_BYTES } from "./constants.ts";

const { newDevice } = testDevices();

it("finds lists again by their contents, in bounded memory", async () => {
  const device = await newDevice();
  const constants = new Constants(device);
  const first = constants.of([1, 2, 3]);
  expect(constants.of([1, 2, 3])).toBe(first);
  for (let i = 0; i < 12_000; i++) constants.of([i, 0, 7]);
  expect(constants.held).toBe(KEPT_PAGES * PAGE_BYTES);
  expect(constants.of([11_999, 0, 7])).toBe(constants.of([11_999, 0, 7]));
  expect(constants.of([1, 2, 3])).not.toBe(first);
  device.destroy();
});

it("bounds tables of offsets, and counts their memory", async () => {
  const device = await harden(await newDevice(), { redundancy: "none", memory: "secded128" });
  const { STORAGE, COPY_DST } = GPUBufferUsage;
  const buffer = device.createBuffer({ size: 16 * 4096, usage: STORAGE | COPY_DST });
  const held = async () => (await device.belay.report()).memory!.held;
  const before = await held();
  // Each part of a granule takes a verification and an encoding of that granule.
  for (let i = 0; i < 2000; i++) device.queue.writeBuffer(buffer, 16 * i, new Uint32Array(1));
  const after = await held();
  expect(after).toBeGreaterThan(before);
  expect(after - before).toBeLessThanOrEqual(KEPT_PAGES * PAGE_BYTES);
  device.destroy();
});
