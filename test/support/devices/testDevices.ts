import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { proxyOf } from "belay-gpu/internal/runtime/webgpu/nativeObjects";
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
  /**
   * Returns a view of one device of the file, for tests that never lose it. Kernels with explicit
   * layouts, as Belay's own, are compiled once for all views.
   */
  sharedDevice: () => Promise<GPUDevice>;
} {
  let opened: OpenedGpu;
  let shared: Promise<GPUDevice> | undefined;
  const kept = new Set<GPUComputePipeline>();
  const errors: string[] = [];
  beforeAll(async () => {
    opened = await openGpu();
  });
  afterAll(() => opened.close());
  afterEach(() => expect(errors.splice(0)).toEqual([]));
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
    shared ??= newDevice();
    return viewOf(await shared, kept);
  };
  return { newDevice, sharedDevice };
}

/**
 * Returns a view of a device that ends without it. Its pipelines are kept: Dawn compiles none again
 * while one with equal text and layout lives.
 */
function viewOf(device: GPUDevice, kept: Set<GPUComputePipeline>): GPUDevice {
  let end = (_: GPUDeviceLostInfo) => {};
  const lost = new Promise<GPUDeviceLostInfo>((resolve) => {
    end = resolve;
  });
  const keep = (pipeline: GPUComputePipeline) => {
    kept.add(pipeline);
    return pipeline;
  };
  return proxyOf(device, {
    createComputePipeline: (descriptor: GPUComputePipelineDescriptor) =>
      keep(device.createComputePipeline(descriptor)),
    createComputePipelineAsync: async (descriptor: GPUComputePipelineDescriptor) =>
      keep(await device.createComputePipelineAsync(descriptor)),
    lost,
    destroy: () => end({ reason: "destroyed", message: "the view ended" } as GPUDeviceLostInfo),
  });
}
