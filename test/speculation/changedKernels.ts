/** Kernels that are broken on purpose, to see that tests notice. */
import { vi } from "vitest";

/**
 * Makes a device compile kernels in which `find` is replaced by `put`: those of this name, or all.
 * Returns a function that counts the kernels changed so far.
 */
export function changeKernels(device: GPUDevice, find: string, put: string, name?: string): () => number {
  let changed = 0;
  const create = device.createShaderModule.bind(device);
  vi.spyOn(device, "createShaderModule").mockImplementation((descriptor) => {
    const { code } = descriptor;
    const isMeant = code.includes(find) && (name === undefined || code.includes(`fn ${name}(`));
    if (!isMeant) return create(descriptor);
    changed++;
    return create({ code: code.replaceAll(find, put) });
  });
  return () => changed;
}
