import { inspect } from "node:util";
import { dataOf } from "belay-gpu/internal/runtime/webgpu/attachedData";
import { makeSilently, proxyOf } from "belay-gpu/internal/runtime/webgpu/nativeObjects";

/** A pipeline that a view has until it ends. */
interface Lent {
  readonly key: string;
  readonly pipeline: GPUComputePipeline;
  readonly isValid: Promise<boolean>;
}

/**
 * A device that several tests use through views. The compilation of kernels takes most of the time
 * of a test, so views that end leave their pipelines to later ones.
 */
export class SharedDevice {
  readonly #device: GPUDevice;
  /** The pipelines with default layouts that no view has, by all that they were made of. */
  readonly #idle = new Map<string, GPUComputePipeline[]>();
  /** Dawn itself compiles no kernel again while a pipeline of it with an explicit layout lives. */
  readonly #kept = new Set<GPUComputePipeline>();
  readonly #codes = new WeakMap<GPUShaderModule, string>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /**
   * Returns a view, which ends without the device. No two views have the same pipeline at a time,
   * as each may be of another hardened device.
   */
  view(): GPUDevice {
    const device = this.#device;
    const lent: Lent[] = [];
    let end = (_: GPUDeviceLostInfo) => {};
    const lost = new Promise<GPUDeviceLostInfo>((resolve) => {
      end = resolve;
    });
    const destroy = () => {
      this.#takeBack(lent.splice(0));
      end({ reason: "destroyed", message: "the view ended" } as GPUDeviceLostInfo);
    };
    const createShaderModule = (descriptor: GPUShaderModuleDescriptor) => {
      const module = device.createShaderModule(descriptor);
      this.#codes.set(module, descriptor.code);
      return module;
    };
    const createComputePipeline = (descriptor: GPUComputePipelineDescriptor) => {
      const key = this.#keyOf(descriptor);
      if (key === undefined) return this.#keep(device.createComputePipeline(descriptor));
      const known = this.#idle.get(key)?.pop();
      const pipeline = known ?? device.createComputePipeline(descriptor);
      lent.push({ key, pipeline, isValid: known ? Promise.resolve(true) : isValid(device, pipeline) });
      return pipeline;
    };
    const createComputePipelineAsync = async (descriptor: GPUComputePipelineDescriptor) => {
      const key = this.#keyOf(descriptor);
      if (key === undefined) return this.#keep(await device.createComputePipelineAsync(descriptor));
      const pipeline = this.#idle.get(key)?.pop() ?? (await device.createComputePipelineAsync(descriptor));
      lent.push({ key, pipeline, isValid: Promise.resolve(true) });
      return pipeline;
    };
    const members = { createShaderModule, createComputePipeline, createComputePipelineAsync };
    return proxyOf(device, { ...members, lost, destroy });
  }

  /** Returns a key that pipelines with default layouts have in common if they are equal. */
  #keyOf({ label, layout, compute }: GPUComputePipelineDescriptor): string | undefined {
    const code = this.#codes.get(compute.module);
    if (layout !== "auto" || code === undefined) return undefined;
    // JSON would lose the sign of a zero.
    return JSON.stringify([label, code, compute.entryPoint, inspect(compute.constants)]);
  }

  #keep(pipeline: GPUComputePipeline): GPUComputePipeline {
    this.#kept.add(pipeline);
    return pipeline;
  }

  #takeBack(lent: readonly Lent[]): void {
    for (const { key, pipeline, isValid } of lent) {
      void isValid.then((reusable) => {
        if (!reusable) return;
        dataOf(pipeline)?.clear();
        this.#idle.set(key, [...(this.#idle.get(key) ?? []), pipeline]);
      });
    }
  }
}

/** Resolves to whether a pipeline is valid. An invalid one has no layouts. */
async function isValid(device: GPUDevice, pipeline: GPUComputePipeline): Promise<boolean> {
  return (await makeSilently(device, () => pipeline.getBindGroupLayout(0)).failed) === null;
}
