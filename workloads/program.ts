import type { Workload } from "../src/runtime/workload.ts";

/** A program's outputs, by name. */
export type Outputs = Record<string, ArrayBufferView>;

/** A program's inputs and kernels on one device, ready to be run any number of times. */
export interface Prepared<Result extends Outputs = Outputs> {
  /** Records every dispatch of one run, and nothing that uploads or reads back. */
  encode(encoder: GPUCommandEncoder): void;
  /** Puts back the inputs that a run overwrites; called between runs by whoever runs it more than once. */
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
  /** Compares a run's outputs with a reference computed on the CPU in higher precision. */
  verify(result: Result): Verdict;
  /** The WGSL of each kernel, by name. */
  readonly kernelSources: Readonly<Record<string, string>>;
  /** What one run has to do at least: bytes between the compute units and memory, and floating-point operations. */
  readonly work: { readonly bytes: number; readonly flops: number };
}

/** The workload that prepares, runs once, reads and cleans up. */
export function runOnce(prepare: (device: GPUDevice) => Prepared): Workload {
  return async (device) => {
    const run = prepare(device);
    try {
      const encoder = device.createCommandEncoder();
      run.encode(encoder);
      device.queue.submit([encoder.finish()]);
      return await run.read();
    } finally {
      run.destroy();
    }
  };
}

type Numbers = Uint32Array | Float32Array;

/** Requires every element to be the expected one. */
export function verifyExact(name: string, actual: Numbers, expected: Numbers): Verdict {
  if (actual.length !== expected.length) {
    return { ok: false, message: `${name} has ${actual.length} elements instead of ${expected.length}` };
  }
  for (let i = 0; i < expected.length; i++) {
    if (actual[i] !== expected[i]) {
      return { ok: false, message: `${name}[${i}] is ${actual[i]} instead of ${expected[i]}` };
    }
  }
  return { ok: true, message: `all ${expected.length} elements of ${name} are exact` };
}
