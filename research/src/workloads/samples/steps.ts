import { uploadBuffer } from "../buffers.ts";

/**
 * A sequence of dispatches with one bind group that differ by a few words, such as the stages of a
 * butterfly network.
 */
export interface Steps {
  readonly layout: GPUPipelineLayout;
  /** Selects `step` for the next dispatch. */
  set(pass: GPUComputePassEncoder, step: number): void;
  destroy(): void;
}

/**
 * Creates the bindings: binding 0 is a uniform of the step's words, and bindings 1, 2… are whole
 * read-write buffers. The words of all steps, equally many for each, lie in one buffer and are
 * chosen by dynamic offset.
 */
export function createSteps(
  device: GPUDevice,
  steps: readonly (readonly number[])[],
  ...storage: readonly GPUBuffer[]
): Steps {
  const stride = device.limits.minUniformBufferOffsetAlignment;
  const size = 4 * steps[0]!.length;
  const spaced = new Uint32Array((steps.length * stride) / 4);
  steps.forEach((words, step) => {
    spaced.set(words, (step * stride) / 4);
  });
  const uniforms = uploadBuffer(device, spaced, GPUBufferUsage.UNIFORM);
  const bindGroupLayout = device.createBindGroupLayout({
    entries: [
      {
        binding: 0,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: "uniform", hasDynamicOffset: true, minBindingSize: size },
      },
      ...storage.map((_, i) => ({
        binding: i + 1,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: "storage" as const },
      })),
    ],
  });
  const bindings = device.createBindGroup({
    layout: bindGroupLayout,
    entries: [
      { binding: 0, resource: { buffer: uniforms, size } },
      ...storage.map((buffer, i) => ({ binding: i + 1, resource: { buffer } })),
    ],
  });
  return {
    layout: device.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] }),
    set: (pass, step) => pass.setBindGroup(0, bindings, [step * stride]),
    destroy: () => uniforms.destroy(),
  };
}
