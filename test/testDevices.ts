import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type OpenedGpu, openGpu } from "../src/runtime/adapter.ts";

/** Opens the GPU for a test file; a WebGPU error that no error scope of the test expects fails the test. */
export function testDevices(): { newDevice: () => Promise<GPUDevice> } {
  let opened: OpenedGpu;
  const errors: string[] = [];
  beforeAll(async () => {
    opened = await openGpu();
  });
  afterAll(() => opened.close());
  afterEach(() => expect(errors.splice(0)).toEqual([]));
  return {
    newDevice: async () => {
      const adapter = await opened.gpu.requestAdapter();
      const device = await adapter!.requestDevice();
      device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
      return device;
    },
  };
}
