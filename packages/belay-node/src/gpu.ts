/**
 * Dawn instances in use. Dawn's native objects point into their instance without owning it, so an
 * instance that is garbage-collected early takes the process with it; this set hangs off
 * `globalThis` to prevent that.
 */
const held = new Set<GPU>();
Object.defineProperty(globalThis, Symbol("belay-gpu.dawn"), { value: held });

/**
 * Creates Dawn's `GPU` object, defines the WebGPU globals (`GPUBufferUsage`, …) the host lacks, and
 * keeps the object alive until {@link releaseGpu}. Rejects where Dawn has no build for this
 * platform.
 */
export async function createGpu(flags: readonly string[]): Promise<GPU> {
  const { create, globals } = await import("webgpu");
  for (const [name, value] of Object.entries(globals)) {
    if (!(name in globalThis)) {
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
    }
  }
  const gpu = create([...flags]);
  held.add(gpu);
  return gpu;
}

/** Lets a `GPU` be collected, and Node.js exit. Nothing made from it may be used afterwards. */
export function releaseGpu(gpu: GPU): void {
  held.delete(gpu);
}
