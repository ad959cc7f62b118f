import { hasOpenRounding } from "../loops/analysis/openRounding.ts";
import { controlWords } from "../loops/kernels/control.ts";

import { wgslName } from "../loops/kernels/names.ts";
import { packParameters, parametersOf } from "../loops/kernels/parameters.ts";
import { emitPublished, type PublishedKernels } from "../loops/kernels/published/kernels.ts";
import {
  addedParameters,
  keysOf,
  logRows,
  markWords,
  ownedStores,
  type StateWord,
  stateSize,
  stateWords,
  tableWords,
} from "../loops/kernels/published/layout.ts";
import { mostUndone } from "../loops/kernels/published/recovery.ts";
import { bind } from "./bind.ts";
import { clearContributions, combineContributions, contributionBytes } from "./contributions.ts";
import type { EngineOutcome, Execution } from "./execution.ts";
import { gridFor } from "./gridFor.ts";
import { PhaseTimer } from "./phaseTimer.ts";
import type { PhaseName } from "./plans.ts";
import { PublishedSchedule } from "./publishedSchedule.ts";
import { type Reading, readBuffers } from "./readBuffers.ts";
import { bitsOf, numberOf } from "./variables.ts";
import type { LoopPipeline, Workspace } from "./workspace.ts";

/** What of the published design is switched on; all of it unless said otherwise. The figures compare each without. */
export interface PublishedOptions {
  /** Runs only misspeculated iterations again; without it, the whole round, on the CPU. */
  readonly localization?: boolean;
  /** Copies only what iterations wrote; without it, whole arrays are copied before and after each round. */
  readonly copyOptimization?: boolean;
  /** Chooses rounds by what the last ones showed; without it, a round takes all iterations the device can hold. */
  readonly scheduling?: boolean;
  /** `measured` leaves dense dependences to the CPU; `never` executes on the CPU only what the GPU cannot. */
  readonly fallback?: "measured" | "never";
  /** Measures how long each phase takes; needs the feature `timestamp-query`. */
  readonly timings?: boolean;
}

/** What an iteration may log when the loop does not say how much it accesses: many for few iterations, few for many. */
const assumedAccesses = (count: number) => Math.min(1024, Math.max(16, Math.floor(2 ** 22 / count)));
/** Turns of its loops that an iteration may take on the GPU. */
const fuel = 1 << 14;
/** Iterations that one round runs again at most: one invocation executes them in order. */
const mostAgain = 1024;
/** Recoveries that are encoded at once, as each stops where it wrongs an iteration that had passed. */
const recoveries = 4;
/** After so many rounds in a row of which most is misspeculated, the CPU takes as many iterations as they had. */
const denseStreak = 4;

/**
 * The published engine: iterations of a round run at once, the ones that share an element that is written run again in
 * order, and the others commit. Made sound by marking both sides of a conflict, by giving those that run again the version of
 * each element that is theirs, and by marking, during the recovery, what it makes wrong.
 *
 * Source: Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014.
 */
export async function runPublished(
  workspace: Workspace,
  execution: Execution,
  options: PublishedOptions = {},
): Promise<EngineOutcome> {
  const { localization = true, copyOptimization = true, scheduling = true, timings = false } = options;
  const { count } = execution;
  if (!tablesFit(workspace.device, execution)) {
    const { next, ended } = await execution.onCpu(0, count);
    return { executed: next, ended, rounds: 0, misspeculated: 0, onCpu: next, plans: [], phases: null };
  }
  const mayFallBack = options.fallback !== "never" && !hasOpenRounding(execution.loop);
  const kernels = emitPublished(execution.loop);
  const compiled = await workspace.compile(execution.loop, Object.values(kernels));
  const names = Object.keys(kernels) as (keyof PublishedKernels)[];
  const pipelines = Object.fromEntries(names.map((name, place) => [name, compiled[place]!])) as Pipelines;
  const timer = timings ? new PhaseTimer(workspace) : null;
  const rounds = new PublishedRounds(workspace, execution, pipelines, timer);
  const schedule = new PublishedSchedule(rounds.trackedKeys, rounds.mostStores, rounds.longest);
  let [executed, ended, dense] = [0, count === 0, 0];
  const totals = { rounds: 0, misspeculated: 0, onCpu: 0 };
  /** The CPU takes twice as many iterations each time it has to take one, so that moving data never costs more. */
  let chunk = 1;
  const onCpu = async (iterations: number) => {
    const result = await rounds.onCpu(executed, Math.min(count, executed + iterations));
    totals.onCpu += result.next - executed;
    executed = result.next;
    ended = result.ended;
  };
  try {
    rounds.begin();
    while (executed < count && !ended) {
      const size = Math.min(scheduling ? schedule.size : rounds.longest, count - executed);
      const state = await rounds.run(executed, size, { localization, copyOptimization });
      totals.rounds++;
      totals.misspeculated += localization || state.marked === 0 ? state.again : size;
      executed += state.stop;
      ended = state.ended !== 0;
      schedule.observe({ iterations: size, misspeculated: state.marked, breaks: state.breaks });
      dense = 2 * state.marked > size ? dense + 1 : 0;
      let forCpu = 0;
      if (state.escaped !== 0) {
        forCpu = chunk;
        chunk *= 2;
      } else if (!localization && state.marked > 0) forCpu = size;
      else if (dense >= denseStreak && mayFallBack) forCpu = denseStreak * size;
      if (forCpu > 0 && !ended) await onCpu(forCpu);
    }
    await rounds.end(executed);
    return { executed, ended, ...totals, plans: ["published"], phases: timer?.times ?? null };
  } finally {
    rounds.destroy();
    timer?.destroy();
  }
}

/** Whether a buffer of the device holds what is kept of each element. */
function tablesFit({ limits }: GPUDevice, { loop, lengths, count }: Execution): boolean {
  const { tracked } = keysOf(loop, (name) => lengths[name]!);
  const most = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  return 4 * tableWords(tracked, count).all <= most;
}

type Pipelines = Readonly<Record<keyof PublishedKernels, LoopPipeline>>;

/** The rounds of one execution, and the buffers they share. */
class PublishedRounds {
  readonly trackedKeys: number;
  /** Most stores of an iteration to tracked elements. */
  readonly mostStores: number;
  /** Most iterations of a round that there is room for. */
  readonly longest: number;
  readonly #workspace: Workspace;
  readonly #execution: Execution;
  readonly #pipelines: Pipelines;
  readonly #timer: PhaseTimer | null;
  readonly #parameters: Record<string, number>;
  /** Where the marks are in the tables, in bytes. */
  readonly #marks: number;
  readonly #buffers: Record<string, GPUBuffer>;
  readonly #groups: Record<keyof PublishedKernels, GPUBindGroup>;
  readonly #copies = new Map<string, GPUBuffer>();

  constructor(workspace: Workspace, execution: Execution, pipelines: Pipelines, timer: PhaseTimer | null) {
    this.#workspace = workspace;
    this.#execution = execution;
    this.#pipelines = pipelines;
    this.#timer = timer;
    const { loop, lengths, buffers, inputs, first, step, count } = execution;
    const { device } = workspace;
    const keys = keysOf(loop, (name) => lengths[name]!);
    this.trackedKeys = keys.tracked;
    const assumed = assumedAccesses(count);
    const mostLoads = loop.mostLoads ?? assumed;
    this.mostStores = loop.mostStores ?? assumed;
    const loggedStores = this.mostStores + (ownedStores(loop) ?? assumed);

    const rows = logRows(mostLoads, loggedStores);
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
    const words = Math.floor(Math.min(maxStorageBufferBindingSize, maxBufferSize, 2 ** 31) / 4);
    this.longest = Math.max(1, Math.min(count, Math.floor((words - 2 * mostUndone) / rows)));
    const tables = tableWords(keys.tracked, this.longest);
    this.#marks = 4 * tables.marks;

    const { STORAGE, COPY_SRC, COPY_DST, UNIFORM } = GPUBufferUsage;
    const buffer = (name: string, words: number, usage: number) =>
      workspace.buffer(name, 4 * words, usage | COPY_DST);
    this.#buffers = {
      params: buffer("published params", parametersOf(loop, addedParameters(loop)).size, UNIFORM),
      control: buffer("control", controlWords.length + loop.carried.length, STORAGE | COPY_SRC),
      state: buffer("published state", stateSize(loop), STORAGE | COPY_SRC),
      tables: device.createBuffer({
        label: "tables",
        size: Math.max(16, 4 * tables.all),
        usage: STORAGE | COPY_DST,
      }),
      log_words: buffer("published log", this.longest * rows + 2 * mostUndone, STORAGE),
      contributions: buffer("contributions", contributionBytes(loop, count) / 4, STORAGE | COPY_SRC),
      ...Object.fromEntries(loop.arrays.map(({ name }) => [`array_${wgslName(name)}`, buffers[name]!])),
    };
    this.#parameters = {
      ...{ first, step, count, fuel, most_again: mostAgain },
      ...{ most_loads: mostLoads, most_stores: loggedStores },
      ...{ tracked_keys: keys.tracked, key_carried: keys.carried },
      ...Object.fromEntries(loop.arrays.map(({ name }) => [`length_${wgslName(name)}`, lengths[name]!])),
      ...Object.fromEntries(loop.inputs.map(({ name }) => [`input_${wgslName(name)}`, inputs[name]!])),
      ...Object.fromEntries([...keys.firstOf].map(([name, key]) => [`key_${wgslName(name)}`, key])),
    };
    this.#groups = Object.fromEntries(
      Object.entries(pipelines).map(([name, pipeline]) => [name, bind(device, pipeline, this.#buffers)]),
    ) as Record<keyof PublishedKernels, GPUBindGroup>;
  }

  /** Gives the GPU the carried variables. */
  begin(): void {
    const { loop, carried } = this.#execution;
    const bits = loop.carried.map(({ name, type }) => bitsOf(type, carried[name]!));
    if (bits.length === 0) return;
    const { queue } = this.#workspace.device;
    queue.writeBuffer(this.#buffers.state!, 4 * stateWords.length, Uint32Array.from(bits));
  }

  /** One round; resolves to the words of its state. Without `localization`, it commits all or nothing. */
  async run(
    base: number,
    size: number,
    { localization, copyOptimization }: { localization: boolean; copyOptimization: boolean },
  ): Promise<Record<StateWord, number>> {
    const { queue } = this.#workspace.device;
    const { params, state, tables } = this.#buffers;
    const parameters = parametersOf(this.#execution.loop, addedParameters(this.#execution.loop));
    queue.writeBuffer(params!, 0, packParameters(parameters, { ...this.#parameters, base, size }));
    queue.writeBuffer(
      state!,
      0,
      Uint32Array.from(stateWords, (word) => (word === "stop" ? size : 0)),
    );

    const begin = (encoder: GPUCommandEncoder) => {
      encoder.clearBuffer(tables!, this.#marks, 4 * markWords(size));
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
      // Nothing before rank 0 is committed.
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

  /** Executes iterations on the CPU. */
  async onCpu(from: number, to: number): Promise<{ readonly next: number; readonly ended: boolean }> {
    const result = await this.#execution.onCpu(from, to);
    clearContributions(this.#workspace, this.#execution, this.#buffers.contributions!, from, result.next);
    this.begin();
    return result;
  }

  /** Brings the reductions up to date, with the iterations before `executed`. */
  end(executed: number): Promise<void> {
    return combineContributions(this.#workspace, this.#execution, this.#buffers, executed, this.#timer);
  }

  destroy(): void {
    for (const buffer of [this.#buffers.tables!, ...this.#copies.values()]) buffer.destroy();
  }

  #encode(
    encoder: GPUCommandEncoder,
    phase: PhaseName,
    iterations: number,
    ...kernels: readonly (keyof PublishedKernels)[]
  ): void {
    const grid = gridFor(this.#workspace, this.#execution.loop, iterations);
    const pass = encoder.beginComputePass(this.#timer?.pass(phase));
    for (const name of kernels) {
      pass.setPipeline(this.#pipelines[name].pipeline);
      pass.setBindGroup(0, this.#groups[name]);
      pass.dispatchWorkgroups(...grid);
    }
    pass.end();
  }

  /** Runs what is encoded and reads the state; the execution's carried variables follow it. */
  async #submit(encode: (encoder: GPUCommandEncoder) => void): Promise<Record<StateWord, number>> {
    const { loop, carried } = this.#execution;
    const encoder = this.#workspace.device.createCommandEncoder();
    encode(encoder);
    const readings: Reading[] = [{ buffer: this.#buffers.state!, bytes: 4 * stateSize(loop) }];
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

  /** What the published design does without its optimization: every array that is written, as a whole. */
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
