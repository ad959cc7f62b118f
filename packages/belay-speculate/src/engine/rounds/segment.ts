import { bailOuts } from "../../loops/kernels/code/body.ts";
import { longestWindow, none, states } from "../../loops/kernels/control.ts";
import { DeviceFailure } from "../device/deviceFailure.ts";
import type { LoopPipeline } from "../device/pipelines.ts";
import { type Reading, readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { LoopProfile } from "../policy/loopProfile.ts";
import { nextPlan, type PlanName } from "../policy/planChoice.ts";
import { rounds as tuning } from "../policy/tuning.ts";
import { clearContributions, combineContributions, contributionBytes } from "./contributions.ts";
import { type IterationRange, numbersOf, type Part } from "./execution.ts";
import { keepFindings, mayOverwrite } from "./findings.ts";
import { type Plan, planOf } from "./plans.ts";
import { type Progress, RoundCounter } from "./progress.ts";
import { type ControlState, Rounds, startOf } from "./rounds.ts";
import { bitsOf, numberOf } from "./scalarBits.ts";
import { SegmentMemory } from "./segmentMemory.ts";

/** How far an execution came whose window was given up. */
interface Interrupted {
  /** Iterations that are done, but for those that wait. */
  readonly done: number;
  readonly waiting: readonly IterationRange[];
  /** Whether the loop ended itself. */
  readonly ended: boolean;
}

export interface SegmentResult extends Interrupted {
  /**
   * Why the GPU stopped before the end: the next iteration is one for the CPU, or the CPU is
   * faster.
   */
  readonly stopped: "bail-out" | "slow" | null;
}

/** Some iterations of a loop, one behind the other, on the GPU: as far as it gets. */
export class Segment {
  readonly #workspace: Workspace;
  readonly #execution: Part;
  readonly #progress: Progress;
  readonly #executionId: number;
  readonly #memory: SegmentMemory;
  readonly #profile: LoopProfile;
  /** What windows that are found are good for. */
  readonly #numbers: string | null;
  #plan!: Plan;
  #rounds!: Rounds;
  #tally!: RoundCounter;
  /** Whether it would be longer if it could have been when the last rounds were encoded. */
  #isGrowing = false;
  /** Windows that were found earlier, when these are executed now. */
  #proven: readonly number[] | null = null;
  /** Whether the windows of all iterations are being found. */
  #isProving = false;

  /** The execution is one of at most {@link longestSegment} iterations. */
  constructor(workspace: Workspace, execution: Part, progress: Progress) {
    this.#workspace = workspace;
    this.#execution = execution;
    this.#progress = progress;
    this.#executionId = workspace.nextExecutionId();
    this.#memory = new SegmentMemory(workspace, execution, progress);
    this.#profile = workspace.profileOf(execution.loop);
    this.#numbers = numbersOf(execution);
  }

  /**
   * Leaves arrays in the buffers and variables in the execution as the iterations that are done
   * leave them.
   */
  async run(wanted: PlanName): Promise<SegmentResult> {
    const { count } = this.#execution;
    const { timer, handover } = this.#progress;
    const plan = this.#possible(wanted);
    const isWhole = plan === "write bitmap" || plan === "in place";
    this.#proven = this.#progress.reuses ? this.#profile.windows.get(this.#numbers) : null;
    if (this.#proven) await this.#begin("proven", 0, this.#proven[0]!);
    else await this.#begin(plan, 0, isWhole ? Infinity : this.#progress.window);
    for (
      let encoded = Math.min(this.#proven?.length ?? this.#progress.expected, tuning.mostEncoded);
      ;
      encoded = this.#isGrowing ? 1 : Math.min(2 * encoded, tuning.mostEncoded)
    ) {
      const state = await this.#run(encoded);
      const { base } = state;
      this.#takeCarried(state);
      const next = nextPlan(this.#plan.name, state, this.#tally.recent, this.#memory.possible);
      if (next) {
        if (next.name !== "in place") this.#progress.window = next.window;
        await this.#begin(next.name, base, next.window);
        if (next.name !== "in place") encoded = 2;
        continue;
      }
      const slow = state.state === states.running && handover?.isDue(count - this.#tally.executed) === true;
      if (state.state === states.running && !slow) continue;
      if (state.state === states.finished) await this.#keep(state);
      if (
        state.state === states.bailedOut &&
        state.bail_out_reason === bailOuts.overflow &&
        this.#memory.growLog()
      ) {
        await this.#begin(this.#plan.name, base, this.#progress.window);
        continue;
      }

      const buffers = this.#memory.buffers(this.#plan);
      const result = slow
        ? await interrupt(this.#workspace, this.#execution, state, buffers, this.#memory.capacity(this.#plan))
        : { done: base, waiting: [] };
      await combineContributions(this.#workspace, this.#execution, buffers, result.done, timer);
      const stopped = slow ? "slow" : state.state === states.bailedOut ? "bail-out" : null;
      return { ended: state.state === states.ended, ...result, stopped };
    }
  }

  /** The plan that was wanted, unless other arrays than those before are too large for it. */
  #possible(wanted: PlanName): PlanName {
    const { reserve, version } = this.#memory.possible;
    if (wanted === "by reservation" && !reserve) return "logged";
    return wanted === "multi-version" && !version ? "logged" : wanted;
  }

  /** Starts the rounds of a plan at an iteration up to which everything is done. */
  async #begin(name: PlanName, base: number, window: number): Promise<void> {
    const { loop, carried } = this.#execution;
    const { plans, timer } = this.#progress;
    this.#isProving = name === "write bitmap" || (name === "in place" && base === 0);
    if (name !== "proven") {
      this.#proven = null;
      this.#progress.plan = name;
    }
    this.#plan = this.#planOf(name);
    const pipelines = await this.#compile(this.#plan);
    if (plans.at(-1) !== name) plans.push(name);
    const buffers = this.#memory.buffers(this.#plan);
    await this.#workspace.allocated();
    if (this.#plan.recordsStores) this.#clear(buffers.stored_bits!);
    this.#rounds = new Rounds(this.#workspace, loop, this.#plan, pipelines, buffers, timer);
    const length = Math.min(
      loop.schedule.iterationsPerRound ?? window,
      this.#progress.longest,
      this.#memory.capacity(this.#plan),
      this.#execution.count - base,
    );
    const bits = loop.carried.map(({ name, type }) => bitsOf(type, carried[name]!));
    const start = startOf(base, length, Uint32Array.from(bits));
    this.#tally = new RoundCounter(name, this.#progress, base, length);
    this.#rounds.begin(this.#memory.parameters(this.#plan, this.#longestNext), {
      ...start,
      execution_id: this.#executionId,
    });
    if (this.#proven) this.#rounds.take(this.#proven);
  }

  /** The plan of a name, which looks for what is overwritten while nobody knows that. */
  #planOf(name: PlanName): Plan {
    const { loop } = this.#execution;
    const recordsStores = mayOverwrite(loop) && this.#profile.overwritten.get(this.#numbers) === null;
    return planOf(name, loop, this.#memory.logSize, recordsStores);
  }

  #compile({ phases }: Plan): Promise<LoopPipeline[]> {
    return this.#workspace.pipelines.compile(
      this.#execution.loop,
      phases.map(({ kernel }) => kernel),
    );
  }

  #clear(buffer: GPUBuffer): void {
    const { device } = this.#workspace;
    const encoder = device.createCommandEncoder();
    encoder.clearBuffer(buffer);
    device.queue.submit([encoder.finish()]);
  }

  /** Keeps what is good for another execution, now that all iterations are done. */
  async #keep({ rounds }: ControlState): Promise<void> {
    const numbers = this.#numbers;
    if (numbers === null) return;
    const buffers = this.#memory.buffers(this.#plan);
    const windows = this.#isProving ? rounds : null;
    await keepFindings(this.#workspace, this.#execution, numbers, this.#plan, buffers, windows);
    this.#progress.overwritten = this.#profile.overwritten.get(numbers);
    // It is needed from the next execution on, which is told when it cannot be compiled.
    if (this.#profile.windows.get(numbers)) this.#compile(this.#planOf("proven")).catch(() => {});
  }

  /** Runs some rounds, and counts what they did. */
  async #run(rounds: number): Promise<ControlState> {
    const start = performance.now();
    const longest = this.#longestNext;
    const state = await this.#rounds.run(rounds, longest);
    this.#isGrowing = state.window === longest && longest === tuning.mostGrowth * this.#tally.window;
    if (state.executed_id !== this.#executionId) throw new DeviceFailure("it did not execute the loop");
    this.#tally.count(state, this.#execution.count, performance.now() - start);
    return state;
  }

  #takeCarried({ carried: bits }: ControlState): void {
    const { loop, carried } = this.#execution;
    for (const [slot, { name, type }] of loop.carried.entries()) carried[name] = numberOf(type, bits[slot]!);
  }

  /** Most iterations of the windows that are begun before the host looks again. */
  get #longestNext(): number {
    if (this.#proven) return Math.max(...this.#proven);
    return Math.max(
      1,
      Math.min(
        this.#memory.capacity(this.#plan),
        this.#progress.longest,
        tuning.mostGrowth * this.#tally.window,
      ),
    );
  }
}

/**
 * Bounds the iterations of a segment by what the kernels can count, and by the room for their
 * contributions to reductions.
 */
export function longestSegment({ loop }: Part, { device }: Workspace): number {
  const { maxStorageBufferBindingSize } = device.limits;
  let longest = loop.reductions.length > 0 ? longestWindow : 2 ** 31;
  while (contributionBytes(loop, longest) > maxStorageBufferBindingSize) longest /= 2;
  return longest;
}

/**
 * Gives the rest of a window of at most `capacity` iterations up, of which some are done and others
 * wait.
 */
async function interrupt(
  workspace: Workspace,
  execution: Part,
  state: ControlState,
  { lists, contributions }: Readonly<Record<string, GPUBuffer>>,
  capacity: number,
): Promise<Interrupted> {
  const done = state.base + state.fresh;
  const ended = state.end !== none && state.fresh === state.end + 1;
  if (state.listed === 0) return { done, waiting: [], ended };
  const list = { buffer: lists!, offset: 4 * state.list * capacity, bytes: 4 * state.listed };
  const waiting = await readWaiting(workspace, list, state.base);
  for (const { from, to } of waiting) clearContributions(workspace, execution, contributions!, from, to);
  return { done, waiting, ended };
}

/**
 * Reads the iterations that a list on the device names, in order; it has them as distances from
 * `base`.
 */
async function readWaiting(workspace: Workspace, list: Reading, base: number): Promise<IterationRange[]> {
  const read = await readBuffers(workspace, [list]);
  const waiting: IterationRange[] = [];
  read((bytes) => {
    for (const distance of new Uint32Array(bytes.slice().buffer).sort()) {
      const iteration = base + distance;
      const last = waiting.at(-1);
      if (last?.to === iteration) waiting[waiting.length - 1] = { from: last.from, to: iteration + 1 };
      else waiting.push({ from: iteration, to: iteration + 1 });
    }
  });
  return waiting;
}
