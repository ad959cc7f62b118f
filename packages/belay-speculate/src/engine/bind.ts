import type { LoopPipeline } from "./pipelines.ts";

interface Bound {
  readonly buffers: readonly GPUBuffer[];
  readonly group: GPUBindGroup;
}

/** What each pipeline was last run with: most loops are run again on the same memory. */
const last = new WeakMap<LoopPipeline, Bound>();

/** A bind group of all that a kernel wants bound, by the names that it has for them. */
export function bind(
  device: GPUDevice,
  pipeline: LoopPipeline,
  named: Readonly<Record<string, GPUBuffer>>,
): GPUBindGroup {
  const { kernel, layout } = pipeline;
  const buffers = kernel.bindings.map(({ name }) => {
    const buffer = named[name];
    if (!buffer) throw new Error(`the kernel ${kernel.name} wants a buffer ${name}`);
    return buffer;
  });
  const before = last.get(pipeline);
  if (before && buffers.every((buffer, binding) => buffer === before.buffers[binding])) return before.group;
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout, entries });
  last.set(pipeline, { buffers, group });
  return group;
}
