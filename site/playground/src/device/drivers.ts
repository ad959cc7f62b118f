/** Drivers that make a mistake on purpose, as replacements in the kernels that they compile. */

/** A driver of the picker. */
export interface Driver {
  readonly name: string;
  readonly title: string;
  /** Returns the text that the driver compiles in place of a kernel. */
  compiles(code: string): string;
}

/** The drivers of the picker. The first one makes no mistake. */
export const drivers: readonly [Driver, ...Driver[]] = [
  { name: "plain", title: "as it is", compiles: (code) => code },
  {
    name: "mean",
    title: "divides by 8 in place of 9",
    compiles: (code) => code.replace("/ 9;", "/ 8;"),
  },
  {
    name: "packed",
    title: "adds 1 to products of packed integers",
    compiles: (code) => code.replaceAll("dot4U8Packed(", "1u + dot4U8Packed("),
  },
  {
    name: "bits",
    title: "counts zeros in place of ones",
    compiles: (code) => code.replaceAll("countOneBits(", "countLeadingZeros("),
  },
];

/** Returns the device with a driver. */
export function withDriver(device: GPUDevice, { compiles }: Driver): GPUDevice {
  const createShaderModule = device.createShaderModule.bind(device);
  device.createShaderModule = (given) => createShaderModule({ ...given, code: compiles(given.code) });
  return device;
}
