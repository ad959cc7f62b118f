import type { PhaseName, PhaseTimer } from "belay-speculate/internal/engine/device/phaseTimer";
import type { LoopPipeline } from "belay-speculate/internal/engine/device/pipelines";
import { type Reading, readBuffers } from "belay-speculate/internal/engine/device/readBuffers";
import type { Workspace } from "belay-speculate/internal/engine/device/workspace";
import {
  clearContributions,
  combineContributions,
} from "belay-speculate/internal/engine/rounds/contributions";
import type { LoopExecution } from "belay-speculate/internal/engine/rounds/execution";
import { bitsOf, numberOf } from "belay-speculate/internal/engine/rounds/scalarBits";
import { packParameters, parametersOf } from "belay-speculate/internal/loops/kernels/code/parameters";
import type { PublishedKernels } from "./kernels/kernels.ts";
import { addedParameters, markWords, type StateWord, stateSize, stateWords } from "./kernels/layout.ts";
import { type PublishedMemory, publishedMemory } from "./publishedMemory.ts";

/**
 * The number of recoveries that are encoded at once. Each stops when it writes an element that an
 * unmarked later iteration has read.
 */
const recoveries = 4;

export type Pipelines = Readonly<Record<keyof PublishedKernels, LoopPipeline>>;

/** The rounds of one execution of the published engine. */
export class PublishedRounds {
  readonly memory: PublishedMemory;
  readonly #workspace: Workspace;
  readonly #execution: LoopExecution;
  readonly #pipelines: Pipelines;
  readonly #timer: PhaseTimer | null;
  readonly #groups: Record<keyof PublishedKernels, GPUBindGroup>;
  readonly #copies = new Map<string, GPUBuffer>();
  /** The number of iterations whose contributions the reductions contain already. */
  #combined = 0;

  constructor(
    workspace: Workspace,
    execution: LoopExecution,
    pipelines: Pipelines,
    timer: PhaseTimer | null,
  ) {
    this.#workspace = workspace;
    this.#execution = execution;
    this.#pipelines = pipelines;
    this.#timer = timer;
    this.memory = publishedMemory(workspace, execution);
    const { buffers } = this.memory;
    this.#groups = Object.fromEntries(
      Object.entries(pipelines).map(([name, pipeline]) => [name, pipeline.bind(buffers)]),
    ) as Record<keyof PublishedKernels, GPUBindGroup>;
  }

  /** Writes the carried variables to the GPU. */
  begin(): void {
    const { loop, carried } = this.#execution;
    const bits = loop.carried.map(({ name, type }) => bitsOf(type, carried[name]!));
    if (bits.length === 0) return;
    const { queue } = this.#workspace.device;
    queue.writeBuffer(this.memory.buffers.state!, 4 * stateWords.length, Uint32Array.from(bits));
  }

  /**
   * Executes one round; resolves to the words of its state. Without `localization`, the round
   * commits all or nothing.
   */
  async run(
    base: number,
    size: number,
    { localization, copyOptimization }: { localization: boolean; copyOptimization: boolean },
  ): Promise<Record<StateWord, number>> {
    const { queue } = this.#workspace.device;
    const { params, state, tables } = this.memory.buffers;
    const parameters = parametersOf(this.#execution.loop, addedParameters(this.#execution.loop));
    queue.writeBuffer(params!, 0, packParameters(parameters, { ...this.memory.parameters, base, size }));
    queue.writeBuffer(
      state!,
      0,
      Uint32Array.from(stateWords, (word) => (word === "stop" ? size : 0)),
    );

    const begin = (encoder: GPUCommandEncoder) => {
      encoder.clearBuffer(tables!, this.memory.marks, 4 * markWords(size));
      if (!copyOptimization) this.#copyArrays(encoder);
      this.#encode(encoder, "computation", size, "compute");
      this.#encode(encoder, "check", size, "check");
    };
    const recover = (encoder: GPUCommandEncoder) => this.#encode(encoder, "recovery", 1, "recover");
    const cascade = (encoder: GPUCommandEncoder) => this.#encode(encoder, "recovery", size, "cascade");
    const commit = (encoder: GPUCommandEncoder) => {
      this.#encode(encoder, "commit", size, "commit", "forget");
      if (!copyOptimization) this.#copyArrays(encoder);
    };

    if (!localization) {
      const { marked } = await this.#submit(begin);
      // A stop at rank 0 commits nothing.
      if (marked > 0) queue.writeBuffer(state!, 0, Uint32Array.of(0));
      const after = await this.#submit((encoder) => {
        recover(encoder);
        commit(encoder);
      });
      return { ...after, marked };
    }
    const recoverAndCommit = (encoder: GPUCommandEncoder) => {
      recover(encoder);
      for (let n = 1; n < recoveries; n++) {
        cascade(encoder);
        recover(encoder);
      }
      commit(encoder);
    };
    let after = await this.#submit((encoder) => {
      begin(encoder);
      this.#encode(encoder, "recovery", size, "forget", "settle");
      recoverAndCommit(encoder);
    });
    while (after.recovered === 0) {
      after = await this.#submit((encoder) => {
        cascade(encoder);
        recoverAndCommit(encoder);
      });
    }
    return after;
  }

  /**
   * Executes iterations on the CPU, with up-to-date reductions: an element that does not exist may
   * set a sum to 0.
   */
  async onCpu(from: number, to: number): Promise<{ readonly next: number; readonly ended: boolean }> {
    await this.end(from);
    const result = await this.#execution.onCpu(from, to);
    const { contributions } = this.memory.buffers;
    clearContributions(this.#workspace, this.#execution, contributions!, this.#combined, result.next);
    this.#combined = result.next;
    this.begin();
    return result;
  }

  /** Combines the contributions of the iterations before `executed` into the reductions. */
  end(executed: number): Promise<void> {
    return combineContributions(this.#workspace, this.#execution, this.memory.buffers, executed, this.#timer);
  }

  destroy(): void {
    for (const buffer of [this.memory.buffers.tables!, ...this.#copies.values()]) buffer.destroy();
  }

  #encode(
    encoder: GPUCommandEncoder,
    phase: PhaseName,
    iterations: number,
    ...kernels: readonly (keyof PublishedKernels)[]
  ): void {
    const grid = this.#workspace.pipelines.gridFor(this.#execution.loop, iterations);
    const pass = encoder.beginComputePass(this.#timer?.pass(phase));
    for (const name of kernels) {
      pass.setPipeline(this.#pipelines[name].pipeline);
      pass.setBindGroup(0, this.#groups[name]);
      pass.dispatchWorkgroups(...grid);
    }
    pass.end();
  }

  /** Runs the encoded commands and reads the state; the execution's carried variables follow it. */
  async #submit(encode: (encoder: GPUCommandEncoder) => void): Promise<Record<StateWord, number>> {
    const { loop, carried } = this.#execution;
    const encoder = this.#workspace.device.createCommandEncoder();
    encode(encoder);
    const readings: Reading[] = [{ buffer: this.memory.buffers.state!, bytes: 4 * stateSize(loop) }];
    if (this.#timer) {
      this.#timer.resolve(encoder);
      readings.push(this.#timer.reading);
    }
    const read = await readBuffers(this.#workspace, readings, encoder);
    let words = new Uint32Array();
    read((bytes, place) => {
      if (place === 0) words = new Uint32Array(bytes.slice().buffer);
      else this.#timer!.add(bytes);
    });
    for (const [slot, { name, type }] of loop.carried.entries()) {
      carried[name] = numberOf(type, words[stateWords.length + slot]!);
    }
    return Object.fromEntries(stateWords.map((word, n) => [word, words[n]!])) as Record<StateWord, number>;
  }

  /**
   * Copies every written array as a whole, as the published design does without its optimization.
   */
  #copyArrays(encoder: GPUCommandEncoder): void {
    const { loop, buffers } = this.#execution;
    for (const { name } of loop.arrays.filter(({ role }) => role !== "read")) {
      const from = buffers[name]!;
      const to =
        this.#copies.get(name) ??
        this.#workspace.device.createBuffer({ size: from.size, usage: GPUBufferUsage.COPY_DST });
      this.#copies.set(name, to);
      encoder.copyBufferToBuffer(from, 0, to, 0, from.size);
    }
  }
}
