import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

/**
 * Opens the GPU for a test file, with every feature and limit if `full` is true, and else with
 * those of the features that the adapter has. A WebGPU error fails the test unless an error scope
 * of the test expects it.
 */
export function testDevices({
  full = false,
  features = [],
}: {
  full?: boolean;
  features?: readonly GPUFeatureName[];
} = {}): {
  newDevice: (options?: { errorsAreExpected?: boolean }) => Promise<GPUDevice>;
} {
  let opened: OpenedGpu;
  const errors: string[] = [];
  beforeAll(async () => {
    opened = await openGpu();
  });
  afterAll(() => opened.close());
  afterEach(() => expect(errors.splice(0)).toEqual([]));
  return {
    newDevice: async ({ errorsAreExpected = false } = {}) => {
      const adapter = await opened.gpu.requestAdapter();
      const requiredFeatures = features.filter((each) => adapter!.features.has(each));
      const device = await (full
        ? requestFullDevice(adapter!)
        : adapter!.requestDevice({ requiredFeatures }));
      if (!errorsAreExpected) {
        device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
      }
      return device;
    },
  };
}
