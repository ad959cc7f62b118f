import type { Loop, NumberType } from "../loops/ir.ts";
import { type Kernel, workgroupSize } from "../loops/kernels/kernel.ts";
import { wgslName } from "../loops/kernels/names.ts";
import { packParameters, parametersOf } from "../loops/kernels/parameters.ts";
import { emitPublished, type PublishedKernels } from "../loops/kernels/published/kernels.ts";
import {
  addedParameters,
  keysOf,
  logRows,
  markWords,
  type StateWord,
  stateSize,
  stateWords,
  tableWords,
} from "../loops/kernels/published/layout.ts";
import { mostUndone } from "../loops/kernels/published/recovery.ts";
import type { Execution } from "./execution.ts";
import { PublishedSchedule } from "./publishedSchedule.ts";

/** What of the published design is switched on; all of it unless said otherwise. The figures compare each without. */
export interface PublishedOptions {
  /** Runs only misspeculated iterations again; without it, the whole round, on the CPU. */
  readonly localization?: boolean;
  /** Copies only what iterations wrote; without it, whole arrays are copied aside and back in each round. */
  readonly copyOptimization?: boolean;
  /** Chooses rounds by what the last ones showed; without it, a round takes all iterations the device can hold. */
  readonly scheduling?: boolean;
}

export type PublishedPhase = "computation" | "check" | "recovery" | "commit";

export interface PublishedOutcome {
  /** Iterations that were executed, up to the one that ended the loop. */
  readonly executed: number;
  readonly rounds: number;
  /** Iterations that ran again because they were misspeculated. */
  readonly misspeculated: number;
  /** Iterations that the CPU executed. */
  readonly onCpu: number;
}

/** What an iteration may log when the loop does not say how much it accesses. */
const assumedAccesses = 16;
/** Turns of its loops that an iteration may take on the GPU. */
const fuel = 1 << 20;
/** Iterations that one round runs again at most: one invocation executes them in order. */
const mostAgain = 1024;
/** Recoveries that are encoded at once, as each stops where it wrongs an iteration that had passed. */
const recoveries = 4;

interface Pipeline {
  readonly kernel: Kernel;
  readonly pipeline: GPUComputePipeline;
}

/**
 * The published engine: iterations of a round run at once, the ones that share an element that is written run again in
 * order, and the others commit. Made sound by marking both sides of a conflict, by giving those that run again the version of
 * each element that is theirs, and by marking, during the recovery, what it makes wrong.
 *
 * Source: Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014.
 */
export class PublishedEngine {
  readonly #device: GPUDevice;
  readonly #loop: Loop;
  readonly #pipelines: Readonly<Record<keyof PublishedKernels, Pipeline>>;
  readonly #parameters: ReadonlyMap<string, NumberType>;

  constructor(device: GPUDevice, loop: Loop) {
    this.#device = device;
    this.#loop = loop;
    this.#parameters = parametersOf(loop, addedParameters(loop));
    const entries = Object.entries(emitPublished(loop)).map(([name, kernel]) => {
      const layout = device.createPipelineLayout({ bindGroupLayouts: [layoutOf(device, kernel)] });
      const module = device.createShaderModule({ code: kernel.code, label: `${loop.name} ${name}` });
      return [name, { kernel, pipeline: device.createComputePipeline({ layout, compute: { module } }) }];
    });
    this.#pipelines = Object.fromEntries(entries);
  }

  async run(execution: Execution, options: PublishedOptions = {}): Promise<PublishedOutcome> {
    const { localization = true, copyOptimization = true, scheduling = true } = options;
    const rounds = new Rounds(this.#device, this.#loop, this.#pipelines, this.#parameters, execution);
    const { count } = execution;
    const schedule = new PublishedSchedule(rounds.keys.tracked, rounds.mostStores, rounds.longest);
    const outcome = { executed: 0, rounds: 0, misspeculated: 0, onCpu: 0 };
    try {
      let ended = false;
      while (outcome.executed < count && !ended) {
        const from = outcome.executed;
        const size = Math.min(scheduling ? schedule.size : rounds.longest, count - from);
        const state = await rounds.run(from, size, { localization, copyOptimization });
        outcome.rounds++;
        outcome.misspeculated += localization || state.marked === 0 ? state.again : size;
        outcome.executed = from + state.stop;
        ended = state.ended !== 0;
        schedule.observe({ iterations: size, misspeculated: state.marked, breaks: state.breaks });
        const forCpu = localization ? Number(state.escaped !== 0) : state.marked > 0 ? size : 0;
        if (forCpu > 0 && !ended) {
          const { next, ended: endedThere } = await rounds.onCpu(outcome.executed, outcome.executed + forCpu);
          outcome.onCpu += next - outcome.executed;
          outcome.executed = next;
          ended = endedThere;
        }
      }
      return outcome;
    } finally {
      rounds.destroy();
    }
  }
}

/** The rounds of one execution, and the buffers they share. */
class Rounds {
  readonly keys;
  readonly mostStores: number;
  /** Most iterations of a round that fit into the log. */
  readonly longest: number;
  readonly #device: GPUDevice;
  readonly #execution: Execution;
  readonly #pipelines: Readonly<Record<keyof PublishedKernels, Pipeline>>;
  readonly #parameters: ReadonlyMap<string, NumberType>;
  readonly #values: Record<string, number>;
  readonly #marksAt: number;
  readonly #buffers: Record<"params" | "state" | "tables" | "log" | "readable", GPUBuffer>;
  readonly #groups: Record<string, GPUBindGroup>;
  readonly #copies = new Map<string, GPUBuffer>();

  constructor(
    device: GPUDevice,
    loop: Loop,
    pipelines: Readonly<Record<keyof PublishedKernels, Pipeline>>,
    parameters: ReadonlyMap<string, NumberType>,
    execution: Execution,
  ) {
    this.#device = device;
    this.#execution = execution;
    this.#pipelines = pipelines;
    this.#parameters = parameters;
    this.keys = keysOf(loop, (name) => execution.lengths[name]!);
    const mostLoads = loop.mostLoads ?? assumedAccesses;
    this.mostStores = loop.mostStores ?? assumedAccesses;

    const rows = logRows(loop, mostLoads, this.mostStores);
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
    const words = Math.floor(Math.min(maxStorageBufferBindingSize, maxBufferSize, 2 ** 31) / 4);
    this.longest = Math.max(1, Math.min(execution.count, Math.floor((words - 2 * mostUndone) / rows)));
    const tables = tableWords(this.keys.tracked, this.longest);
    this.#marksAt = tables.marks;

    const { STORAGE, COPY_SRC, COPY_DST, UNIFORM, MAP_READ } = GPUBufferUsage;
    const buffer = (words: number, usage: number) => device.createBuffer({ size: words * 4, usage });
    const stateLength = stateSize(loop);
    this.#buffers = {
      params: buffer(Math.ceil(parameters.size / 4) * 4, UNIFORM | COPY_DST),
      state: buffer(stateLength, STORAGE | COPY_SRC | COPY_DST),
      tables: buffer(tables.all, STORAGE | COPY_DST),
      log: buffer(this.longest * rows + 2 * mostUndone, STORAGE),
      readable: buffer(stateLength, MAP_READ | COPY_DST),
    };
    this.#values = {
      first: execution.first,
      step: execution.step,
      count: execution.count,
      most_loads: mostLoads,
      most_stores: this.mostStores,
      fuel,
      most_again: mostAgain,
      tracked_keys: this.keys.tracked,
      key_carried: this.keys.carried,
    };
    for (const { name } of loop.arrays) this.#values[`length_${wgslName(name)}`] = execution.lengths[name]!;
    for (const { name } of loop.inputs) this.#values[`input_${wgslName(name)}`] = execution.inputs[name]!;
    for (const [name, key] of this.keys.firstOf) this.#values[`key_${wgslName(name)}`] = key;

    const named: Record<string, GPUBuffer> = { ...this.#buffers };
    for (const { name } of loop.arrays) named[`array_${wgslName(name)}`] = execution.buffers[name]!;
    this.#groups = Object.fromEntries(
      Object.entries(pipelines).map(([name, { kernel, pipeline }]) => [
        name,
        device.createBindGroup({
          layout: pipeline.getBindGroupLayout(0),
          entries: kernel.bindings.map((binding, n) => ({
            binding: n,
            resource: { buffer: named[binding.name]! },
          })),
        }),
      ]),
    );
    this.#writeVariables();
  }

  /** One round; resolves to the words of its state. Without `localization`, it commits all or nothing. */
  async run(
    from: number,
    size: number,
    { localization, copyOptimization }: Required<Pick<PublishedOptions, "localization" | "copyOptimization">>,
  ): Promise<Record<StateWord, number>> {
    const { queue } = this.#device;
    queue.writeBuffer(
      this.#buffers.params,
      0,
      packParameters(this.#parameters, { ...this.#values, base: from, size }),
    );
    const words = stateWords.map((word) => (word === "stop" ? size : 0));
    queue.writeBuffer(this.#buffers.state, 0, Uint32Array.from(words));

    const begin = (encoder: GPUCommandEncoder) => {
      encoder.clearBuffer(this.#buffers.tables, this.#marksAt * 4, markWords(size) * 4);
      if (!copyOptimization) this.#copyArrays(encoder);
      this.#dispatch(encoder, "computation", size, "compute");
      this.#dispatch(encoder, "check", size, "check");
    };
    const commit = (encoder: GPUCommandEncoder) => {
      this.#dispatch(encoder, "commit", size, "commit", "forget");
      if (!copyOptimization) this.#copyArrays(encoder);
    };
    const recover = (encoder: GPUCommandEncoder) => {
      for (let n = 0; n < recoveries; n++) {
        if (n > 0) this.#dispatch(encoder, "recovery", size, "cascade");
        this.#dispatch(encoder, "recovery", 1, "recover");
      }
      commit(encoder);
    };

    if (localization) {
      let state = await this.#submit((encoder) => {
        begin(encoder);
        this.#dispatch(encoder, "recovery", size, "forget", "settle");
        recover(encoder);
      });
      while (state.recovered === 0) {
        state = await this.#submit((encoder) => {
          this.#dispatch(encoder, "recovery", size, "cascade");
          recover(encoder);
        });
      }
      return state;
    }
    const { marked } = await this.#submit(begin);
    // Nothing before rank 0 is committed.
    if (marked > 0) queue.writeBuffer(this.#buffers.state, 0, Uint32Array.of(0));
    return this.#submit((encoder) => {
      this.#dispatch(encoder, "recovery", 1, "recover");
      commit(encoder);
    });
  }

  /** Executes iterations on the CPU, with the variables that the GPU holds. */
  async onCpu(from: number, to: number): Promise<{ next: number; ended: boolean }> {
    const result = await this.#execution.onCpu(from, to);
    this.#writeVariables();
    return result;
  }

  destroy(): void {
    for (const buffer of [...Object.values(this.#buffers), ...this.#copies.values()]) buffer.destroy();
  }

  #dispatch(
    encoder: GPUCommandEncoder,
    phase: PublishedPhase,
    iterations: number,
    ...kernels: (keyof PublishedKernels)[]
  ): void {
    const pass = encoder.beginComputePass({ label: phase });
    const groups = Math.ceil(iterations / workgroupSize);
    const x = Math.min(groups, this.#device.limits.maxComputeWorkgroupsPerDimension);
    for (const name of kernels) {
      pass.setPipeline(this.#pipelines[name].pipeline);
      pass.setBindGroup(0, this.#groups[name]!);
      pass.dispatchWorkgroups(x, Math.ceil(groups / x));
    }
    pass.end();
  }

  /** Runs what is encoded and reads the state; the execution's variables follow it. */
  async #submit(encode: (encoder: GPUCommandEncoder) => void): Promise<Record<StateWord, number>> {
    const { state, readable } = this.#buffers;
    const encoder = this.#device.createCommandEncoder();
    encode(encoder);
    encoder.copyBufferToBuffer(state, 0, readable, 0, state.size);
    this.#device.queue.submit([encoder.finish()]);
    await readable.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(readable.getMappedRange()).slice();
    readable.unmap();
    this.#variables((values, { name, type }, n) => {
      values[name] = numberOf(type, words[n]!);
    });
    return Object.fromEntries(stateWords.map((word, n) => [word, words[n]!])) as Record<StateWord, number>;
  }

  #writeVariables(): void {
    const words: number[] = [];
    this.#variables((values, { name, type }) => words.push(bitsOf(type, values[name]!)));
    if (words.length > 0) {
      this.#device.queue.writeBuffer(this.#buffers.state, stateWords.length * 4, Uint32Array.from(words));
    }
  }

  /** Visits the carried variables and the reductions with their words in the state. */
  #variables(
    visit: (
      values: Record<string, number>,
      variable: { name: string; type: NumberType },
      word: number,
    ) => void,
  ): void {
    const { loop, carried, reductions } = this.#execution;
    let word = stateWords.length;
    for (const variable of loop.carried) visit(carried, variable, word++);
    for (const variable of loop.reductions) visit(reductions, variable, word++);
  }

  /** What the published design does without its optimization: every array that is written, as a whole. */
  #copyArrays(encoder: GPUCommandEncoder): void {
    for (const { name } of this.#execution.loop.arrays.filter(({ role }) => role !== "read")) {
      const from = this.#execution.buffers[name]!;
      const to =
        this.#copies.get(name) ??
        this.#device.createBuffer({ size: from.size, usage: GPUBufferUsage.COPY_DST });
      this.#copies.set(name, to);
      encoder.copyBufferToBuffer(from, 0, to, 0, from.size);
    }
  }
}

function layoutOf(device: GPUDevice, { bindings }: Kernel): GPUBindGroupLayout {
  const types = { uniform: "uniform", read: "read-only-storage", write: "storage" } as const;
  return device.createBindGroupLayout({
    entries: bindings.map(({ access }, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: types[access] },
    })),
  });
}

const view = new DataView(new ArrayBuffer(4));

function bitsOf(type: NumberType, value: number): number {
  if (type === "f32") view.setFloat32(0, value);
  else view.setInt32(0, value);
  return view.getUint32(0);
}

function numberOf(type: NumberType, bits: number): number {
  view.setUint32(0, bits);
  return { i32: view.getInt32(0), u32: bits, f32: view.getFloat32(0) }[type];
}
