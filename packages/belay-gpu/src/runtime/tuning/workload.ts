/**
 * A compute program: it takes a device and returns named results. Benchmarks, fault campaigns and
 * users' own programs are all workloads. A workload knows nothing of Belay, and the device may be a
 * hardened one.
 */
export type Workload = (device: GPUDevice) => Promise<Record<string, ArrayBufferView>>;

/** Throws a `TypeError` if the argument is no workload. */
export function refuseNoWorkload(workload: Workload): void {
  if (typeof workload !== "function") throw new TypeError("a workload is a function of a device");
}

/** Devices that are destroyed together. */
export class Devices {
  readonly #made: GPUDevice[] = [];

  add(device: GPUDevice): GPUDevice {
    this.#made.push(device);
    return device;
  }

  destroy(): void {
    for (const device of this.#made.splice(0)) device.destroy();
  }
}

/** The outputs of a program, by name. */
export type Outputs = Record<string, ArrayBufferView>;

/** The inputs and kernels of a program on one device. They can be run any number of times. */
export interface Prepared<Result extends Outputs = Outputs> {
  /** Encodes the dispatches of one run, without uploads and read-backs. */
  encode(encoder: GPUCommandEncoder): void;
  /** Restores the inputs that a run overwrites. Call it between runs. */
  reset?(): void;
  /** Reads the outputs of the last run that was submitted. */
  read(): Promise<Result>;
  destroy(): void;
}

export interface Verdict {
  readonly ok: boolean;
  readonly message: string;
}

/** A workload of one size whose results can be verified. */
export interface VerifiableProgram<Result extends Outputs = Outputs> {
  readonly workload: Workload;
  prepare(device: GPUDevice): Prepared<Result>;
  /**
   * Compares the outputs of a run with a reference, which is computed on the CPU with higher
   * precision.
   */
  verify(result: Result): Verdict;
  /** The WGSL of each kernel, by name. */
  readonly kernelSources: Readonly<Record<string, string>>;
  /**
   * The least work of one run: bytes between the compute units and memory, and floating-point
   * operations.
   */
  readonly work: { readonly bytes: number; readonly flops: number };
}
