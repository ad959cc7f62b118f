import { expect, it, vi } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { resident } from "../transfer/resident.ts";
import { Workspace } from "./workspace.ts";

const devices = testDevices();
const megabyte = 2 ** 20;

it("moves arrays there and back through a few staging buffers, however long they are", async () => {
  const device = await devices.newDevice();
  const create = vi.spyOn(device, "createBuffer");
  // No whole number of words, nor of staging buffers, and more of these than there are.
  const array = new Uint8Array(70 * megabyte + 3);
  for (let i = 0; i < array.length; i++) array[i] = i * 7 + (i >> 12);
  const expected = Buffer.from(array);
  const kept = resident(array);
  const moved = { uploaded: 0, downloaded: 0 };
  await kept.upload(Workspace.of(device), moved);
  const staged = create.mock.calls.filter(([{ usage }]) => usage & GPUBufferUsage.MAP_WRITE);
  expect(staged.length).toBe(4);
  kept.deviceChanged();
  array.fill(0);
  await kept.read();
  expect(expected.equals(array)).toBe(true);
  expect(kept.isOnDevice).toBe(false);
  const mapped = create.mock.calls.filter(([{ usage }]) => usage & GPUBufferUsage.MAP_READ);
  expect(Math.max(...mapped.map(([{ size }]) => size))).toBe(8 * megabyte);
  kept.release();
});

it("ends when the memory that it moves is given away meanwhile, and fails when the device is lost", async () => {
  const device = await devices.newDevice({ errorsAreExpected: true });
  const { uploads } = Workspace.of(device);
  const buffer = device.createBuffer({ size: 80 * megabyte, usage: GPUBufferUsage.COPY_DST });
  const given = new Uint8Array(80 * megabyte);
  const moving = uploads.write(buffer, 0, given);
  structuredClone(given, { transfer: [given.buffer] });
  await moving;
  const lost = uploads.write(buffer, 0, new Uint8Array(80 * megabyte));
  device.destroy();
  await expect(lost).rejects.toThrow("its memory cannot be written");
});
