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
import type { LoopPipeline } from "../device/pipelines.ts";
import { type Reading, readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Part } from "./execution.ts";
import type { Ending } from "./rounds.ts";
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

/** The commands that combine the contributions of all committed iterations, and their results. */
export class Combination implements Ending {
  readonly #workspace: Workspace;
  readonly #part: Part;
  readonly #pipelines: readonly LoopPipeline[];
  readonly #buffers: Readonly<Record<string, GPUBuffer>>;
  readonly #timer: PhaseTimer | null;
  readonly #results: Uint32Array[] = [];

  private constructor(
    workspace: Workspace,
    part: Part,
    pipelines: readonly LoopPipeline[],
    buffers: Readonly<Record<string, GPUBuffer>>,
    timer: PhaseTimer | null,
  ) {
    this.#workspace = workspace;
    this.#part = part;
    this.#pipelines = pipelines;
    this.#buffers = buffers;
    this.#timer = timer;
  }

  /** Returns the combination of a part, whose kernels are compiled; null if it reduces nothing. */
  static async of(
    workspace: Workspace,
    part: Part,
    buffers: Readonly<Record<string, GPUBuffer>>,
    timer: PhaseTimer | null,
  ): Promise<Combination | null> {
    if (part.loop.reductions.length === 0) return null;
    const pipelines = await workspace.pipelines.compile(part.loop, combiningKernels(part.loop));
    return new Combination(workspace, part, pipelines, buffers, timer);
  }

  encode(encoder: GPUCommandEncoder): Reading[] {
    const { loop, count } = this.#part;
    let scratch = loop.reductions.flatMap(wordsOf).length * count;
    return this.#pipelines.map((pipeline, place) => {
      const reduction = loop.reductions[place]!;
      const levels = levelsOf(reduction, count, scratch);
      scratch += scratchWords(reduction, count);
      for (const [depth, level] of levels.entries()) {
        const uniform = this.#workspace.buffer(
          `level ${place} ${depth}`,
          4 * levelWords,
          GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
        );
        this.#workspace.update(uniform, packLevel(level, depth === 0, count));
        const pass = encoder.beginComputePass(this.#timer?.pass("commit"));
        pass.setPipeline(pipeline.pipeline);
        pass.setBindGroup(0, pipeline.bind({ ...this.#buffers, level: uniform }));
        pass.dispatchWorkgroups(level.workgroups);
        pass.end();
      }
      const bytes = 4 * resultWords(reduction);
      return { buffer: this.#buffers.contributions!, bytes, offset: 4 * levels.at(-1)!.target };
    });
  }

  keep(place: number, bytes: Uint8Array): void {
    this.#results[place] = new Uint32Array(bytes.slice().buffer);
  }

  /** Combines the results with the values of the execution. */
  apply(): void {
    const { loop, reductions } = this.#part;
    for (const [place, reduction] of loop.reductions.entries())
      applyResult(reduction, reductions, this.#results[place]!);
  }
}

/** Combines the contributions of the iterations before `end` with the values of the execution. */
export async function combineContributions(
  workspace: Workspace,
  part: Part,
  buffers: Readonly<Record<string, GPUBuffer>>,
  end: number,
  timer: PhaseTimer | null,
): Promise<void> {
  const combination = end === 0 ? null : await Combination.of(workspace, part, buffers, timer);
  if (!combination) return;
  const { device } = workspace;
  device.queue.writeBuffer(buffers.control!, 4 * controlWords.indexOf("base"), Uint32Array.of(end));
  const encoder = device.createCommandEncoder();
  const readings: Reading[] = combination.encode(encoder);
  if (timer) {
    timer.resolve(encoder);
    readings.push(timer.reading);
  }
  const read = await readBuffers(workspace, readings, encoder);
  read((bytes, place) => {
    if (place < part.loop.reductions.length) combination.keep(place, bytes);
    else timer!.add(bytes);
  });
  combination.apply();
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
