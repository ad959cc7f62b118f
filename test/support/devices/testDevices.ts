import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { proxyOf } from "belay-gpu/internal/runtime/webgpu/nativeObjects";
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

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
   * Returns a view of one device of the file, for tests that never lose it. Equal kernels that
   * Belay wrote are compiled once for all views.
   */
  sharedDevice: () => Promise<GPUDevice>;
} {
  let opened: OpenedGpu;
  let shared: ReturnType<typeof share> | undefined;
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
  const share = async () => {
    const device = await newDevice();
    return { device, members: keepingPipelines(device) };
  };
  const sharedDevice = async () => {
    shared ??= share();
    const { device, members } = await shared;
    return viewOf(device, members);
  };
  return { newDevice, sharedDevice };
}

/**
 * Keeps the pipelines of a device. Dawn compiles none again while one with equal text and explicit
 * layout lives.
 */
function keepingPipelines(device: GPUDevice) {
  const kept = new Set<GPUComputePipeline>();
  const keep = (pipeline: GPUComputePipeline) => {
    kept.add(pipeline);
    return pipeline;
  };
  return {
    createComputePipeline: (descriptor: GPUComputePipelineDescriptor) =>
      keep(device.createComputePipeline(descriptor)),
    createComputePipelineAsync: async (descriptor: GPUComputePipelineDescriptor) =>
      keep(await device.createComputePipelineAsync(descriptor)),
  };
}

/** Returns a view of a device that ends without it. */
function viewOf(device: GPUDevice, members: ReturnType<typeof keepingPipelines>): GPUDevice {
  let end = (_: GPUDeviceLostInfo) => {};
  const lost = new Promise<GPUDeviceLostInfo>((resolve) => {
    end = resolve;
  });
  const destroy = () => end({ reason: "destroyed", message: "the view ended" } as GPUDeviceLostInfo);
  return proxyOf(device, { ...members, lost, destroy });
}
