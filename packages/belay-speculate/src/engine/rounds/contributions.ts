import { identityOf } from "../../loops/kernels/code/body.ts";
import type { LoopKernel } from "../../loops/kernels/code/kernel.ts";
import { controlWords } from "../../loops/kernels/control.ts";
import { levelsOf, packLevel, reductionKernel, scratchWords } from "../../loops/kernels/reductions.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import { oncePerLoop } from "../../loops/tree/oncePerLoop.ts";
import type { PhaseTimer } from "../device/phaseTimer.ts";
import { readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Part } from "./execution.ts";
import { bitsOf, numberOf, reduceValues } from "./scalarBits.ts";

/**
 * Returns the bytes for the contributions of `count` iterations to a loop's reductions, with memory
 * to combine them.
 */
export function contributionBytes({ reductions }: Loop, count: number): number {
  return 4 * reductions.length * (count + scratchWords(count));
}

/**
 * Clears the contributions of iterations that the CPU executes. The execution's values include them
 * already.
 */
export function clearContributions(
  workspace: Workspace,
  { loop, count }: Part,
  contributions: GPUBuffer,
  from: number,
  to: number,
): void {
  for (const [place, reduction] of loop.reductions.entries()) {
    const identities = new Uint32Array(to - from).fill(bitsOf(reduction.type, identityOf(reduction)));
    workspace.device.queue.writeBuffer(contributions, 4 * (place * count + from), identities);
  }
}

/** The kernels for each reduction of a loop. */
const kernelsOf = oncePerLoop((loop): readonly LoopKernel[] =>
  loop.reductions.map((reduction) => reductionKernel(loop, reduction)),
);

/** Combines the contributions of the iterations before `end` with the values of the execution. */
export async function combineContributions(
  workspace: Workspace,
  { loop, count, reductions }: Part,
  buffers: Readonly<Record<string, GPUBuffer>>,
  end: number,
  timer: PhaseTimer | null,
): Promise<void> {
  if (loop.reductions.length === 0 || end === 0) return;
  const { device } = workspace;
  const pipelines = await workspace.pipelines.compile(loop, kernelsOf(loop));
  device.queue.writeBuffer(buffers.control!, 4 * controlWords.indexOf("base"), Uint32Array.of(end));

  const encoder = device.createCommandEncoder();
  const readings = pipelines.map((pipeline, place) => {
    const scratch = loop.reductions.length * count + place * scratchWords(count);
    const levels = levelsOf(count, place * count, scratch);
    for (const [depth, level] of levels.entries()) {
      const uniform = workspace.buffer(
        `level ${place} ${depth}`,
        16,
        GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
      );
      device.queue.writeBuffer(uniform, 0, packLevel(level, depth === 0));
      const pass = encoder.beginComputePass(timer?.pass("commit"));
      pass.setPipeline(pipeline.pipeline);
      pass.setBindGroup(0, pipeline.bind({ ...buffers, level: uniform }));
      pass.dispatchWorkgroups(level.workgroups);
      pass.end();
    }
    return { buffer: buffers.contributions!, bytes: 4, offset: 4 * levels.at(-1)!.target };
  });
  if (timer) {
    timer.resolve(encoder);
    readings.push({ ...timer.reading, offset: 0 });
  }
  const read = await readBuffers(workspace, readings, encoder);
  read((bytes, place) => {
    const reduction = loop.reductions[place];
    if (!reduction) return timer!.add(bytes);
    const [bits] = new Uint32Array(bytes.slice().buffer);
    const { name, type } = reduction;
    reductions[name] = reduceValues(reduction, reductions[name]!, numberOf(type, bits!));
  });
}
