/** Views of one device, through which tests share compiled kernels. */
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { testDevices } from "./support/devices/testDevices.ts";

const { sharedDevice } = testDevices();

function pipelineOf(device: GPUDevice, code: string): GPUComputePipeline {
  const compute = { module: device.createShaderModule({ code }) };
  return device.createComputePipeline({ layout: "auto", compute });
}

it("gives a pipeline to one view at a time", async () => {
  const code = "@compute @workgroup_size(1) fn run() {}";
  const first = await sharedDevice();
  const pipeline = pipelineOf(first, code);
  expect(pipelineOf(await sharedDevice(), code)).not.toBe(pipeline);
  first.destroy();
  await first.queue.onSubmittedWorkDone();
  await setImmediate();
  const second = await sharedDevice();
  expect(pipelineOf(second, code)).toBe(pipeline);
  expect(pipelineOf(second, code)).not.toBe(pipeline);
});

it("tells each view that its pipeline is invalid", async () => {
  for (let i = 0; i < 2; i++) {
    const device = await sharedDevice();
    device.pushErrorScope("validation");
    pipelineOf(device, "invalid");
    expect(await device.popErrorScope()).toMatchObject({ message: expect.stringContaining("invalid") });
    device.destroy();
  }
});
