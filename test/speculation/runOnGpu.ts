import type { Loop } from "../../src/loops/ir.ts";
import type { LoopData } from "../../src/loops/sequential.ts";
import type { Execution } from "../../src/speculation/execution.ts";
import { readBuffers } from "../../workloads/buffers.ts";

/** Runs an engine on buffers that hold `arrays`; the results are copies, and no iteration may need the CPU. */
export async function runOnGpu<Outcome>(
  device: GPUDevice,
  loop: Loop,
  arrays: Readonly<Record<string, LoopData>>,
  count: number,
  run: (execution: Execution) => Promise<Outcome>,
): Promise<{ outcome: Outcome; results: Record<string, LoopData> }> {
  const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
  const buffers: Record<string, GPUBuffer> = {};
  const lengths: Record<string, number> = {};
  for (const [name, data] of Object.entries(arrays)) {
    const size = Math.max(4, Math.ceil(data.byteLength / 4) * 4);
    buffers[name] = device.createBuffer({
      size,
      usage: STORAGE | COPY_SRC | COPY_DST,
      mappedAtCreation: true,
    });
    new Uint8Array(buffers[name].getMappedRange()).set(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    );
    buffers[name].unmap();
    lengths[name] = data.length;
  }
  const outcome = await run({
    loop,
    buffers,
    lengths,
    inputs: {},
    first: 0,
    step: 1,
    count,
    carried: {},
    reductions: {},
    onCpu: () => Promise.reject(new Error("an iteration was left to the CPU")),
  });
  const results: Record<string, LoopData> = {};
  for (const [name, data] of Object.entries(arrays)) {
    const bytes = await readBuffers(device, buffers[name]!);
    const Elements = data.constructor as new (
      buffer: ArrayBuffer,
      offset: number,
      length: number,
    ) => LoopData;
    results[name] = new Elements(bytes, 0, data.length);
    buffers[name]!.destroy();
  }
  return { outcome, results };
}
