import type { LoopKernel } from "../../loops/kernels/code/kernel.ts";
import { comparisonOf, firstWordOf, identityOf, wordsOf } from "../../loops/kernels/code/reduced.ts";
import { controlWords, none } from "../../loops/kernels/control.ts";
import {
  levelsOf,
  levelWords,
  packLevel,
  reductionKernel,
  resultWords,
  scratchWords,
} from "../../loops/kernels/reductions.ts";
import type { Loop, Reduction } from "../../loops/tree/ir.ts";
import { oncePerLoop } from "../../loops/tree/oncePerLoop.ts";
import type { PhaseTimer } from "../device/phaseTimer.ts";
import { readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Part } from "./execution.ts";
import { bitsOf, isChosen, numberOf, reduceValues } from "./scalarBits.ts";

/**
 * Returns the bytes for the contributions of `count` iterations to a loop's reductions, with memory
 * to combine them.
 */
export function contributionBytes({ reductions }: Loop, count: number): number {
  return reductions.reduce(
    (bytes, reduction) => bytes + 4 * (wordsOf(reduction).length * count + scratchWords(reduction, count)),
    0,
  );
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
  for (const reduction of loop.reductions) {
    const first = firstWordOf(loop, reduction);
    // The other words of a wide sum or of a choice have the identity 0.
    for (const [at] of wordsOf(reduction).entries()) {
      const bits = at === 0 ? bitsOf(reduction.type, identityOf(reduction)) : 0;
      const identities = new Uint32Array(to - from).fill(bits);
      workspace.device.queue.writeBuffer(contributions, 4 * ((first + at) * count + from), identities);
    }
  }
}

/** The kernels that combine the contributions to each reduction of a loop. */
export const combiningKernels = oncePerLoop((loop): readonly LoopKernel[] =>
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
  const pipelines = await workspace.pipelines.compile(loop, combiningKernels(loop));
  device.queue.writeBuffer(buffers.control!, 4 * controlWords.indexOf("base"), Uint32Array.of(end));

  const encoder = device.createCommandEncoder();
  let scratch = loop.reductions.flatMap(wordsOf).length * count;
  const readings = pipelines.map((pipeline, place) => {
    const reduction = loop.reductions[place]!;
    const levels = levelsOf(reduction, count, scratch);
    scratch += scratchWords(reduction, count);
    for (const [depth, level] of levels.entries()) {
      const uniform = workspace.buffer(
        `level ${place} ${depth}`,
        4 * levelWords,
        GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
      );
      device.queue.writeBuffer(uniform, 0, packLevel(level, depth === 0, count));
      const pass = encoder.beginComputePass(timer?.pass("commit"));
      pass.setPipeline(pipeline.pipeline);
      pass.setBindGroup(0, pipeline.bind({ ...buffers, level: uniform }));
      pass.dispatchWorkgroups(level.workgroups);
      pass.end();
    }
    const bytes = 4 * resultWords(reduction);
    return { buffer: buffers.contributions!, bytes, offset: 4 * levels.at(-1)!.target };
  });
  if (timer) {
    timer.resolve(encoder);
    readings.push({ ...timer.reading, offset: 0 });
  }
  const read = await readBuffers(workspace, readings, encoder);
  read((bytes, place) => {
    const reduction = loop.reductions[place];
    if (!reduction) return timer!.add(bytes);
    applyResult(reduction, reductions, new Uint32Array(bytes.slice().buffer));
  });
}

/** Combines the words of a reduction's result with the values before. */
function applyResult(reduction: Reduction, values: Record<string, number>, words: Uint32Array): void {
  const { name, type, isWide, companions = [] } = reduction;
  if (!comparisonOf(reduction)) {
    const value = isWide ? numberOf("i32", words[1]!) * 2 ** 32 + words[0]! : numberOf(type, words[0]!);
    values[name] = reduceValues(reduction, values[name]!, value);
    return;
  }
  const [iteration, ...bits] = words;
  if (iteration === none) return;
  const [before, value] = [values[name]!, numberOf(type, bits[0]!)];
  values[name] = reduceValues(reduction, before, value);
  if (!isChosen(reduction, before, value)) return;
  for (const [at, companion] of companions.entries())
    values[companion.name] = numberOf(companion.type, bits[at + 1]!);
}
