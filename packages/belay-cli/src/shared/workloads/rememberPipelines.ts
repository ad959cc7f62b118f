import { proxyOf } from "belay-gpu/internal/runtime/webgpu/nativeObjects";

/**
 * The device, for a workload that sets everything up in each run: what it compiles a second time is
 * what it compiled the first time. Pipelines with a layout of their own are made each time, as
 * layouts are.
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
