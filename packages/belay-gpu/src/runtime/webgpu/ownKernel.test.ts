import { expect, it, vi } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { newDevice } = testDevices();

it.each([
  ["checksum", ["belay: sum", "belay: compare sums"]],
  ["secded128", ["belay: encode", "belay: verify"]],
] as const)("compiles the kernels of %s before the first dispatch needs them", async (memory, labels) => {
  const native = await newDevice();
  const later = vi.spyOn(native, "createComputePipelineAsync");
  const atOnce = vi.spyOn(native, "createComputePipeline");
  const device = harden(native, { redundancy: "none", memory });
  expect(later.mock.calls.map(([{ label }]) => label)).toEqual(labels);
  await Promise.all(later.mock.results.map(({ value }) => value));
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const buffer = device.createBuffer({ size: 4096, usage });
  const encoder = device.createCommandEncoder();
  encoder.clearBuffer(buffer);
  device.queue.submit([encoder.finish()]);
  await device.belay.scrub();
  expect((await device.belay.report()).memory).toMatchObject({ scrubs: 1, uncorrectable: 0 });
  expect(atOnce).not.toHaveBeenCalled();
  device.destroy();
});
