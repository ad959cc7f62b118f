/**
 * Returns a view of a device that replaces `from` by `to` in WGSL, to break a kernel on purpose.
 * Throws for a kernel without `from`, unless the program has other kernels, too. Belay's own
 * kernels need no `from`.
 */
export function changeKernel(
  device: GPUDevice,
  from: string,
  to: string,
  kernels: "one" | "all" = "one",
): GPUDevice {
  return new Proxy(device, {
    get(target, name) {
      if (name === "createShaderModule") {
        return ({ code, label = "" }: GPUShaderModuleDescriptor) => {
          const isOwn = label.startsWith("belay: ");
          if (kernels === "one" && !isOwn && !code.includes(from))
            throw new Error(`the kernel does not contain "${from}"`);
          return target.createShaderModule({ code: code.replace(from, to) });
        };
      }
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
