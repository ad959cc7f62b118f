/**
 * A compute program: it takes a device and hands back named results. Benchmarks, fault campaigns
 * and users' own programs are all workloads. It knows nothing of Belay, and the device may be a
 * hardened one.
 */
export type Workload = (device: GPUDevice) => Promise<Record<string, ArrayBufferView>>;

/** A program's outputs, by name. */
export type Outputs = Record<string, ArrayBufferView>;

/** A program's inputs and kernels on one device, ready to be run any number of times. */
export interface Prepared<Result extends Outputs = Outputs> {
  /** Records every dispatch of one run, and nothing that uploads or reads back. */
  encode(encoder: GPUCommandEncoder): void;
  /**
   * Puts back the inputs that a run overwrites; called between runs by whoever runs it more than
   * once.
   */
  reset?(): void;
  /** Reads the outputs of the last run that was submitted. */
  read(): Promise<Result>;
  destroy(): void;
}

export interface Verdict {
  readonly ok: boolean;
  readonly message: string;
}

/** A workload of one size that knows its right answer. */
export interface Program<Result extends Outputs = Outputs> {
  readonly workload: Workload;
  prepare(device: GPUDevice): Prepared<Result>;
  /** Compares a run's outputs with a reference computed on the CPU, in higher precision. */
  verify(result: Result): Verdict;
  /** The WGSL of each kernel, by name. */
  readonly kernelSources: Readonly<Record<string, string>>;
  /**
   * What one run has to do at least: bytes between the compute units and memory, and floating-point
   * operations.
   */
  readonly work: { readonly bytes: number; readonly flops: number };
}
