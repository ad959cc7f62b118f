/**
 * The Dawn instances that were created, and the devices of each. Dawn's objects ask their instance
 * for answers without owning it. An instance that is garbage-collected before the last answer
 * crashes the process. Instances are small, so all stay. A property of `globalThis` keeps the map
 * alive.
 */
const devicesOf = new Map<GPU, Set<WeakRef<GPUDevice>>>();
Object.defineProperty(globalThis, Symbol("belay-gpu.dawn"), { value: devicesOf });

/**
 * Creates Dawn's `GPU` object, and defines the WebGPU globals (`GPUBufferUsage`, …) that the host
 * lacks. Rejects if Dawn has no build for this platform.
 */
export async function createGpu(flags: readonly string[]): Promise<GPU> {
  const { create, globals } = await import("webgpu");
  for (const [name, value] of Object.entries(globals)) {
    if (!(name in globalThis)) {
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
    }
  }
  const gpu = create([...flags]);
  devicesOf.set(gpu, rememberDevices(gpu));
  return gpu;
}

/** Destroys all devices of a `GPU`. Reads that are under way reject, so that Node.js can exit. */
export function destroyDevices(gpu: GPU): void {
  for (const device of devicesOf.get(gpu)!) device.deref()?.destroy();
}

/** Returns the set to which each later device of a `GPU` is added. */
function rememberDevices(gpu: GPU): Set<WeakRef<GPUDevice>> {
  const devices = new Set<WeakRef<GPUDevice>>();
  const requestAdapter = gpu.requestAdapter.bind(gpu);
  gpu.requestAdapter = async (options) => {
    const adapter = await requestAdapter(options);
    if (!adapter) return null;
    const requestDevice = adapter.requestDevice.bind(adapter);
    adapter.requestDevice = async (descriptor) => {
      const device = await requestDevice(descriptor);
      devices.add(new WeakRef(device));
      return device;
    };
    return adapter;
  };
  return devices;
}
