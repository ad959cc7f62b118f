import { proxyOf } from "belay-gpu/internal/runtime/webgpu/nativeObjects";

/**
 * Returns a device that compiles repeated modules and pipelines only once, for workloads that set
 * everything up in each run. Pipelines with an explicit layout are compiled each time, because such
 * layouts are new each time.
 */
export function rememberPipelines(device: GPUDevice): GPUDevice {
  const modules = new Map<string, GPUShaderModule>();
  const pipelines = new Map<string, GPUComputePipeline>();
  const codes = new WeakMap<GPUShaderModule, string>();

  const createShaderModule = (descriptor: GPUShaderModuleDescriptor): GPUShaderModule => {
    const { label, code } = descriptor;
    const key = JSON.stringify([label, code]);
    const module = modules.get(key) ?? device.createShaderModule(descriptor);
    modules.set(key, module);
    codes.set(module, key);
    return module;
  };
  const createComputePipeline = (descriptor: GPUComputePipelineDescriptor): GPUComputePipeline => {
    const { label, layout, compute } = descriptor;
    const code = codes.get(compute.module);
    if (layout !== "auto" || code === undefined) return device.createComputePipeline(descriptor);
    const key = JSON.stringify([label, code, compute.entryPoint, Object.entries(compute.constants ?? {})]);
    const pipeline = pipelines.get(key) ?? device.createComputePipeline(descriptor);
    pipelines.set(key, pipeline);
    return pipeline;
  };
  return proxyOf(device, {
    createShaderModule,
    createComputePipeline,
    createComputePipelineAsync: async (descriptor: GPUComputePipelineDescriptor) =>
      createComputePipeline(descriptor),
  });
}
