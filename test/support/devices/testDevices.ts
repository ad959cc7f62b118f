import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { SharedDevice } from "./sharedDevice.ts";

/**
 * Opens the GPU for a test file. It has every feature and limit if `full` is true, and else those
 * of `features` that the adapter has. A WebGPU error fails the test unless an error scope of the
 * test expects it.
 */
export function testDevices({
  full = false,
  features = [],
}: {
  full?: boolean;
  features?: readonly GPUFeatureName[];
} = {}): {
  newDevice: (options?: { errorsAreExpected?: boolean }) => Promise<GPUDevice>;
  /**
   * Returns a view of one device of the file, for tests that never lose it. It ends with the test.
   * Equal kernels are compiled once for views after each other.
   */
  sharedDevice: () => Promise<GPUDevice>;
} {
  let opened: OpenedGpu;
  let shared: Promise<SharedDevice> | undefined;
  /** The views of the test that runs. */
  let views: GPUDevice[] | undefined;
  const errors: string[] = [];
  beforeAll(async () => {
    opened = await openGpu();
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    views = [];
  });
  afterEach(() => {
    for (const view of views ?? []) view.destroy();
    views = undefined;
    expect(errors.splice(0)).toEqual([]);
  });
  const newDevice = async ({ errorsAreExpected = false } = {}) => {
    const adapter = await opened.gpu.requestAdapter();
    const requiredFeatures = features.filter((each) => adapter!.features.has(each));
    const device = await (full ? requestFullDevice(adapter!) : adapter!.requestDevice({ requiredFeatures }));
    if (!errorsAreExpected) {
      device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
    }
    return device;
  };
  const sharedDevice = async () => {
    shared ??= newDevice().then((device) => new SharedDevice(device));
    const view = (await shared).view();
    views?.push(view);
    return view;
  };
  return { newDevice, sharedDevice };
}
