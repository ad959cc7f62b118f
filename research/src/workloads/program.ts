import type { Prepared, Verdict, Workload } from "belay-gpu/internal/runtime/tuning/workload";

export type {
  Outputs,
  Prepared,
  Verdict,
  VerifiableProgram,
} from "belay-gpu/internal/runtime/tuning/workload";

/** Returns a workload that prepares, runs once, reads and cleans up. */
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

type Numbers = Uint8Array | Uint32Array | Float32Array;

/** Requires every element to equal the expected one. */
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
