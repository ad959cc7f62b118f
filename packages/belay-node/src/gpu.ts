/**
 * The Dawn instances in use. Dawn's native objects point to their instance without owning it. If
 * the instance is garbage-collected early, the process crashes. A property of `globalThis` keeps
 * this set alive.
 */
const held = new Set<GPU>();
Object.defineProperty(globalThis, Symbol("belay-gpu.dawn"), { value: held });

/**
 * Creates Dawn's `GPU` object, and defines the WebGPU globals (`GPUBufferUsage`, …) that the host
 * lacks. Keeps the object alive until {@link releaseGpu}. Rejects if Dawn has no build for this
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

/** Releases a `GPU`, so that Node.js can exit. No object from it may be used afterwards. */
export function releaseGpu(gpu: GPU): void {
  held.delete(gpu);
}
