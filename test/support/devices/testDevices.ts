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
   * Returns a view of one device of the file, for tests that never lose it, and that hear no errors
   * of other views. It ends with the test. Equal kernels are compiled once for views after each
   * other.
   */
  sharedDevice: (options?: { errorsAreExpected?: boolean }) => Promise<GPUDevice>;
} {
  let opened: OpenedGpu;
  /** The shared devices: one whose errors fail a test, and one whose errors are expected. */
  const shared = new Map<boolean, Promise<SharedDevice>>();
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
  const sharedDevice = async ({ errorsAreExpected = false } = {}) => {
    const device =
      shared.get(errorsAreExpected) ??
      newDevice({ errorsAreExpected }).then((native) => new SharedDevice(native));
    shared.set(errorsAreExpected, device);
    const view = (await device).view();
    views?.push(view);
    return view;
  };
  return { newDevice, sharedDevice };
}
