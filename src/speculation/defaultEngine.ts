import { addressesAreRepeatable } from "../loops/kernels/addresses.ts";
import { controlWords, longestWindow, states } from "../loops/kernels/control.ts";
import { engineParameters, markedElements, offsetsOf } from "../loops/kernels/marks.ts";
import { wgslName } from "../loops/kernels/names.ts";
import { clearContributions, combineContributions, contributionBytes } from "./contributions.ts";
import type { Execution } from "./execution.ts";
import { PhaseTimer, type PhaseTimes } from "./phaseTimer.ts";
import { byReservation, inPlace, type Plan } from "./plans.ts";
import { type ControlState, Rounds, startOf } from "./rounds.ts";
import { bitsOf, valueOf } from "./variables.ts";
import type { Workspace } from "./workspace.ts";

export interface DefaultOptions {
  /** Measures how long each phase takes; needs the feature `timestamp-query`. */
  readonly timings?: boolean;
}

export interface DefaultOutcome {
  /** Iterations that were executed, up to the one that ended the loop. */
  readonly executed: number;
  readonly ended: boolean;
  readonly rounds: number;
  /** Iterations that rounds looked at without executing them. */
  readonly misspeculated: number;
  /** Iterations that the CPU executed. */
  readonly onCpu: number;
  /** How iterations were executed. */
  readonly plans: readonly Plan["name"][];
  readonly phases: PhaseTimes | null;
}

/** Turns that the loops of one iteration may take on the GPU. An iteration that needs more is one for the CPU. */
const fuel = 1 << 14;
/** Most rounds that are encoded at once. */
const mostRounds = 64;

/**
 * The default engine: executes windows of iterations on the GPU, and commits what no earlier iteration could have changed, until none
 * is left. Leaves the arrays in the buffers, and the variables in the execution, as the sequential loop does.
 */
export async function runDefault(
  workspace: Workspace,
  execution: Execution,
  options: DefaultOptions = {},
): Promise<DefaultOutcome> {
  const timer = options.timings ? new PhaseTimer(workspace) : null;
  try {
    return await new DefaultExecution(workspace, execution, timer).run();
  } finally {
    timer?.destroy();
  }
}

class DefaultExecution {
  readonly #workspace: Workspace;
  readonly #execution: Execution;
  readonly #timer: PhaseTimer | null;
  readonly #stamp: number;
  readonly #plans: Plan["name"][] = [];
  #plan!: Plan;
  #rounds!: Rounds;
  #totals = { rounds: 0, evaluated: 0, onCpu: 0 };
  /** How many iterations the CPU takes when it has to take one: each time twice as many, so that moving data never costs more. */
  #chunk = 1;

  constructor(workspace: Workspace, execution: Execution, timer: PhaseTimer | null) {
    this.#workspace = workspace;
    this.#execution = execution;
    this.#timer = timer;
    this.#stamp = workspace.nextStamp();
  }

  async run(): Promise<DefaultOutcome> {
    const { loop, count } = this.#execution;
    if (!addressesAreRepeatable(loop)) throw new Error("not yet");
    let [base, ended] = [0, count === 0];
    if (count > 0) await this.#begin(inPlace(loop), base);
    let rounds = 1;
    while (base < count && !ended) {
      const state = await this.#rounds.run(Math.min(rounds, mostRounds));
      if (state.stamp !== this.#stamp) throw new Error("the device did not execute the loop");
      rounds = Math.max(2, 2 * rounds);
      base = state.base;
      ended = state.state === states.ended;
      if (state.state === states.running) continue;
      this.#finish(state);
      if (state.state === states.conflicting) {
        await this.#begin(byReservation(loop), base);
        rounds = 4;
      } else if (state.state === states.escaped) {
        ({ next: base, ended } = await this.#onCpu(base));
        if (!ended && base < count) await this.#begin(this.#plan, base);
        rounds = 1;
      }
    }
    await combineContributions(this.#workspace, this.#execution, this.#buffers(), base, this.#timer);
    const { evaluated, onCpu } = this.#totals;
    return {
      executed: base,
      ended,
      rounds: this.#totals.rounds,
      misspeculated: evaluated - (base - onCpu),
      onCpu,
      plans: this.#plans,
      phases: this.#timer?.times ?? null,
    };
  }

  /** Starts the rounds of a plan at an iteration up to which everything is done. */
  async #begin(plan: Plan, base: number): Promise<void> {
    const { loop, carried } = this.#execution;
    const pipelines = await this.#workspace.compile(
      loop,
      plan.phases.map(({ kernel }) => kernel),
    );
    if (this.#plans.at(-1) !== plan.name) this.#plans.push(plan.name);
    this.#plan = plan;
    this.#rounds = new Rounds(this.#workspace, plan, pipelines, this.#buffers(), this.#timer);
    const bits = loop.carried.map(({ name, type }) => bitsOf(type, carried[name]!));
    const state = startOf(base, this.#window(base), Uint32Array.from(bits));
    this.#rounds.begin(loop, this.#parameters(), state);
  }

  /** Takes over what the rounds of a plan came to. */
  #finish(state: ControlState): void {
    const { loop, carried } = this.#execution;
    this.#totals.rounds += state.rounds;
    this.#totals.evaluated += state.evaluated + state.evaluated_high * 2 ** 32;
    for (const [slot, { name, type }] of loop.carried.entries())
      carried[name] = valueOf(type, state.carried[slot]!);
  }

  async #onCpu(from: number): Promise<{ next: number; ended: boolean }> {
    const execution = this.#execution;
    const result = await execution.onCpu(from, Math.min(execution.count, from + this.#chunk));
    this.#chunk *= 2;
    this.#totals.onCpu += result.next - from;
    clearContributions(this.#workspace, execution, this.#buffers().contributions!, from, result.next);
    return result;
  }

  /** The buffers that the kernels use, by the names they have for them. */
  #buffers(): Record<string, GPUBuffer> {
    const { loop, buffers, count } = this.#execution;
    const { UNIFORM, STORAGE, INDIRECT, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const named = (name: string, bytes: number, usage: number) =>
      this.#workspace.buffer(name, bytes, usage | COPY_DST);
    return {
      params: named("params", 4 * engineParameters(loop).size, UNIFORM),
      control: named("control", 4 * (controlWords.length + loop.carried.length), STORAGE | COPY_SRC),
      dispatches: named("dispatches", 36, STORAGE | INDIRECT),
      marks: named("marks", 4 * this.#marked * this.#plan.marksPerElement, STORAGE),
      lists: named("lists", this.#capacity * this.#plan.bytesPerSlot, STORAGE),
      contributions: named("contributions", contributionBytes(loop, count), STORAGE | COPY_SRC),
      ...Object.fromEntries(loop.arrays.map(({ name }) => [`array_${wgslName(name)}`, buffers[name]!])),
    };
  }

  #parameters(): Record<string, number> {
    const { loop, lengths, inputs, first, step, count } = this.#execution;
    const values: Record<string, number> = { first, step, count, stamp: this.#stamp, fuel };
    for (const { name } of loop.inputs) values[`input_${wgslName(name)}`] = inputs[name]!;
    for (const { name } of loop.arrays) values[`length_${wgslName(name)}`] = lengths[name]!;
    for (const [name, offset] of offsetsOf(loop, lengths)) values[`offset_${wgslName(name)}`] = offset;
    values.marked = this.#marked;
    values.capacity = this.#capacity;
    values.window = loop.schedule.iterationsPerRound ?? 0;
    return values;
  }

  get #marked(): number {
    return markedElements(this.#execution.loop, this.#execution.lengths);
  }

  /** How many iterations the first window from `base` on takes. */
  #window(base: number): number {
    const { loop, count } = this.#execution;
    return Math.min(loop.schedule.iterationsPerRound ?? Infinity, this.#capacity, count - base);
  }

  /** Most iterations of a window that there is room for. */
  get #capacity(): number {
    const { maxStorageBufferBindingSize } = this.#workspace.device.limits;
    const room = Math.floor(maxStorageBufferBindingSize / Math.max(1, this.#plan.bytesPerSlot));
    return Math.min(longestWindow, this.#execution.count, room);
  }
}
