import type { Outputs, Prepared, Verdict, Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { bindBuffers } from "./buffers.ts";

export type {
  Outputs,
  Prepared,
  Verdict,
  VerifiableProgram,
} from "belay-gpu/internal/runtime/tuning/workload";

/** The one dispatch of a program: its buffers, at bindings 0, 1, 2…, and its workgroups. */
interface Dispatch<Results extends Outputs> extends Pick<Prepared<Results>, "read"> {
  readonly buffers: readonly GPUBuffer[];
  readonly grid: readonly [x: number, y?: number];
}

/** Prepares a program that dispatches one kernel. */
export function prepareDispatch<Results extends Outputs>(
  device: GPUDevice,
  code: string,
  { buffers, grid, read }: Dispatch<Results>,
): Prepared<Results> {
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const bindings = bindBuffers(device, pipeline, ...buffers);
  return {
    encode(encoder) {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(...grid);
      pass.end();
    },
    read,
    destroy() {
      for (const buffer of buffers) buffer.destroy();
    },
  };
}

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
