import type { Outputs } from "belay-gpu/internal/runtime/tuning/workload";
import { sameBits, type TimedProgram } from "./timing.ts";

/** A part of a buffer that is copied when a program's outputs are read. */
interface Range {
  readonly source: GPUBuffer;
  readonly offset: number;
  readonly size: number;
}

/** The most runs whose outputs are fetched at once, and the most bytes of these outputs. */
const together = { runs: 128, bytes: 2 ** 25 };

/**
 * Runs a program many times, and counts the runs whose outputs differ from `expected` in any bit.
 * Outputs stay on the GPU until many of them can be fetched at once. Fetching each alone would take
 * ten times as long as the runs of a small program.
 */
export async function countDifferent(
  device: GPUDevice,
  program: TimedProgram,
  expected: Outputs,
  runs: number,
): Promise<number> {
  program.submit();
  let first: Outputs = {};
  const ranges = await rangesCopied(device, async () => {
    first = await program.read();
  });
  if (!sameBits(first, expected)) return runs;
  const bytes = ranges.reduce((sum, { size }) => sum + size, 0);
  const most = Math.max(1, Math.min(together.runs, runs, Math.floor(together.bytes / bytes)));
  const { COPY_DST, MAP_READ } = GPUBufferUsage;
  const kept = device.createBuffer({ size: most * bytes, usage: COPY_DST | MAP_READ });
  const keep = (encoder: GPUCommandEncoder, run: number) => {
    let at = run * bytes;
    for (const { source, offset, size } of ranges) {
      encoder.copyBufferToBuffer(source, offset, kept, at, size);
      at += size;
    }
  };
  const fetched = async (count: number) => {
    await kept.mapAsync(GPUMapMode.READ, 0, count * bytes);
    const copy = Buffer.from(kept.getMappedRange(0, count * bytes).slice(0));
    kept.unmap();
    return copy;
  };

  // The run above left the expected outputs.
  const encoder = device.createCommandEncoder();
  keep(encoder, 0);
  device.queue.submit([encoder.finish()]);
  const right = await fetched(1);
  let different = 0;
  for (let left = runs; left > 0; left -= most) {
    const count = Math.min(most, left);
    program.submitMany(count, keep);
    const outputs = await fetched(count);
    for (let run = 0; run < count; run++) {
      if (!outputs.subarray(run * bytes, (run + 1) * bytes).equals(right)) different++;
    }
  }
  kept.destroy();
  return different;
}

/** Returns the ranges that are copied from buffer to buffer while outputs are read. */
async function rangesCopied(device: GPUDevice, read: () => Promise<void>): Promise<Range[]> {
  const ranges: Range[] = [];
  const create = device.createCommandEncoder;
  device.createCommandEncoder = (descriptor) => {
    const encoder = create.call(device, descriptor);
    const copy = encoder.copyBufferToBuffer as (...args: readonly unknown[]) => undefined;
    encoder.copyBufferToBuffer = (source: GPUBuffer, ...rest: readonly unknown[]) => {
      const [offset, , , size] = rest.length > 2 ? (rest as number[]) : [];
      ranges.push({ source, offset: offset ?? 0, size: size ?? source.size });
      return copy.call(encoder, source, ...rest);
    };
    return encoder;
  };
  try {
    await read();
  } finally {
    device.createCommandEncoder = create;
  }
  return ranges;
}
