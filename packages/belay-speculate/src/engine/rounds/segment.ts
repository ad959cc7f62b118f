import { bailOuts } from "../../loops/kernels/code/body.ts";
import { longestWindow, none, states } from "../../loops/kernels/control.ts";
import { DeviceFailure } from "../device/deviceFailure.ts";
import { type Reading, readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { LoopProfile } from "../policy/loopProfile.ts";
import { nextPlan, type PlanName } from "../policy/planChoice.ts";
import { rounds as tuning } from "../policy/tuning.ts";
import {
  Combination,
  clearContributions,
  combineContributions,
  combiningKernels,
  contributionBytes,
} from "./contributions.ts";
import { type IterationRange, numbersOf, type Part } from "./execution.ts";
import { keepFindings, mayOverwrite } from "./findings.ts";
import { kernelsOf, type Plan, planOf } from "./plans.ts";
import { type ControlState, type Ending, Rounds, startOf } from "./rounds.ts";
import { bitsOf, numberOf } from "./scalarBits.ts";
import { SegmentMemory } from "./segmentMemory.ts";
import { RoundCounter, type SharedState } from "./sharedState.ts";

/** The state of an execution whose window was given up. */
interface Interrupted {
  /** The number of iterations that are done, except for those that wait. */
  readonly done: number;
  readonly waiting: readonly IterationRange[];
  /** True if the loop ended by a `break`. */
  readonly ended: boolean;
}

export interface SegmentResult extends Interrupted {
  /**
   * The reason why the GPU stopped before the end: the next iteration bails out, or the CPU is
   * faster.
   */
  readonly stopped: "bail-out" | "slow" | null;
}

/** Consecutive iterations of a loop on the GPU, which executes as many of them as it can. */
export class Segment {
  readonly #workspace: Workspace;
  readonly #execution: Part;
  readonly #shared: SharedState;
  readonly #executionId: number;
  readonly #memory: SegmentMemory;
  readonly #profile: LoopProfile;
  readonly #beforeRounds: (executed: number) => void;
  /**
   * The numbers under which found windows are kept; null if addresses follow from more than
   * numbers.
   */
  readonly #numbers: string | null;
  #plan!: Plan;
  #rounds!: Rounds;
  #tally!: RoundCounter;
  /** True if the windows of the last encoded rounds reached their largest length. */
  #isGrowing = false;
  /** The windows found by an earlier execution, if they are being executed now. */
  #proven: readonly number[] | null = null;
  /** True if the windows of all iterations are being found. */
  #isProving = false;

  /**
   * Takes an execution of at most {@link longestSegment} iterations. `beforeRounds` is called
   * before the GPU gets further rounds, with the number of executed iterations.
   */
  constructor(
    workspace: Workspace,
    execution: Part,
    shared: SharedState,
    beforeRounds: (executed: number) => void,
  ) {
    this.#workspace = workspace;
    this.#execution = execution;
    this.#shared = shared;
    this.#beforeRounds = beforeRounds;
    this.#executionId = workspace.nextExecutionId();
    this.#memory = new SegmentMemory(workspace, execution, shared);
    this.#profile = workspace.profileOf(execution.loop);
    this.#numbers = numbersOf(execution);
  }

  /**
   * Runs rounds. The arrays in the buffers and the variables in the execution are then those after
   * the iterations that are done. The first rounds may be the last, so the results of reductions
   * and of the scan are read with their state.
   */
  async run(wanted: PlanName, scan: Ending | null): Promise<SegmentResult> {
    const { count } = this.#execution;
    const { timer, handover } = this.#shared;
    const plan = this.#possible(wanted);
    const isWhole = plan === "write bitmap" || plan === "in place";
    this.#proven = this.#shared.reuses ? this.#profile.windows.get(this.#numbers) : null;
    if (this.#proven) await this.#begin("proven", 0, this.#proven[0]!);
    else await this.#begin(plan, 0, isWhole ? Infinity : this.#shared.window);
    let combination = await Combination.of(
      this.#workspace,
      this.#execution,
      this.#memory.buffers(this.#plan),
      timer,
    );
    let endings = [combination, scan].filter((ending) => ending !== null);
    for (
      let encoded = Math.min(this.#proven?.length ?? this.#shared.expected, tuning.mostEncoded);
      ;
      encoded = this.#isGrowing ? 1 : Math.min(2 * encoded, tuning.mostEncoded)
    ) {
      this.#beforeRounds(this.#tally.executed);
      const state = await this.#run(encoded, endings);
      const combined = combination;
      [combination, endings] = [null, []];
      const { base } = state;
      this.#takeCarried(state);
      const next = nextPlan(this.#plan.name, state, this.#tally.recent, this.#memory.possible);
      if (next) {
        if (next.name !== "in place") this.#shared.window = next.window;
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
        await this.#begin(this.#plan.name, base, this.#shared.window);
        continue;
      }

      const buffers = this.#memory.buffers(this.#plan);
      const result = slow
        ? await interrupt(this.#workspace, this.#execution, state, buffers, this.#memory.capacity(this.#plan))
        : { done: base, waiting: [] };
      if (combined && !slow) combined.apply();
      else await combineContributions(this.#workspace, this.#execution, buffers, result.done, timer);
      const stopped = slow ? "slow" : state.state === states.bailedOut ? "bail-out" : null;
      return { ended: state.state === states.ended, ...result, stopped };
    }
  }

  /** Returns the wanted plan, or `logged` if the arrays are too large for it. */
  #possible(wanted: PlanName): PlanName {
    const { reserve, version } = this.#memory.possible;
    if (wanted === "by reservation" && !reserve) return "logged";
    return wanted === "multi-version" && !version ? "logged" : wanted;
  }

  /** Starts the rounds of a plan at an iteration before which all are done. */
  async #begin(name: PlanName, base: number, window: number): Promise<void> {
    const { loop, carried } = this.#execution;
    const { plans, timer } = this.#shared;
    this.#isProving = name === "write bitmap" || (name === "in place" && base === 0);
    if (name !== "proven") {
      this.#proven = null;
      this.#shared.plan = name;
    }
    this.#plan = this.#planOf(name);
    this.#workspace.pipelines.prepare(loop, combiningKernels(loop));
    const pipelines = await this.#workspace.pipelines.compile(loop, kernelsOf(this.#plan));
    if (plans.at(-1) !== name) plans.push(name);
    const buffers = this.#memory.buffers(this.#plan);
    await this.#workspace.allocated();
    if (this.#plan.recordsStores) this.#clear(buffers.stored_bits!);
    this.#rounds = new Rounds(this.#workspace, loop, this.#plan, pipelines, buffers, timer);
    const length = Math.min(
      loop.schedule.iterationsPerRound ?? window,
      this.#shared.longest,
      this.#memory.capacity(this.#plan),
      this.#execution.count - base,
    );
    const bits = loop.carried.map(({ name, type }) => bitsOf(type, carried[name]!));
    const start = startOf(base, length, Uint32Array.from(bits));
    this.#tally = new RoundCounter(name, this.#shared, base, length);
    this.#rounds.begin(this.#memory.parameters(this.#plan, this.#longestNext), {
      ...start,
      execution_id: this.#executionId,
    });
    if (this.#proven) this.#rounds.take(this.#proven);
  }

  /**
   * Returns the plan of a name. It records stores as long as the overwritten arrays are unknown.
   */
  #planOf(name: PlanName): Plan {
    const { loop } = this.#execution;
    const recordsStores = mayOverwrite(loop) && this.#profile.overwritten.get(this.#numbers) === null;
    return planOf(name, loop, this.#memory.logSize, recordsStores);
  }

  #clear(buffer: GPUBuffer): void {
    const { device } = this.#workspace;
    const encoder = device.createCommandEncoder();
    encoder.clearBuffer(buffer);
    device.queue.submit([encoder.finish()]);
  }

  /** Keeps findings for later executions, when all iterations are done. */
  async #keep({ rounds }: ControlState): Promise<void> {
    const numbers = this.#numbers;
    if (numbers === null) return;
    const buffers = this.#memory.buffers(this.#plan);
    const windows = this.#isProving ? rounds : null;
    await keepFindings(this.#workspace, this.#execution, numbers, this.#plan, buffers, windows);
    this.#shared.overwritten = this.#profile.overwritten.get(numbers);
    // The next execution needs this plan, and reports it if compilation fails.
    if (this.#profile.windows.get(numbers))
      this.#workspace.pipelines.prepare(this.#execution.loop, kernelsOf(this.#planOf("proven")));
  }

  /** Runs some rounds and counts their work. */
  async #run(rounds: number, endings: readonly Ending[]): Promise<ControlState> {
    const start = performance.now();
    const longest = this.#longestNext;
    const state = await this.#rounds.run(rounds, longest, endings);
    this.#isGrowing = state.window === longest && longest === tuning.mostGrowth * this.#tally.window;
    if (state.executed_id !== this.#executionId) throw new DeviceFailure("it did not execute the loop");
    this.#tally.count(state, this.#execution.count, performance.now() - start);
    return state;
  }

  #takeCarried({ carried: bits }: ControlState): void {
    const { loop, carried } = this.#execution;
    for (const [slot, { name, type }] of loop.carried.entries()) carried[name] = numberOf(type, bits[slot]!);
  }

  /** The largest window that may begin before the host reads the state again. */
  get #longestNext(): number {
    if (this.#proven) return Math.max(...this.#proven);
    return Math.max(
      1,
      Math.min(
        this.#memory.capacity(this.#plan),
        this.#shared.longest,
        tuning.mostGrowth * this.#tally.window,
      ),
    );
  }
}

/**
 * Returns the largest number of iterations of a segment. The kernels' counters and the memory for
 * contributions to reductions bound it.
 */
export function longestSegment({ loop }: Part, { device }: Workspace): number {
  const { maxStorageBufferBindingSize } = device.limits;
  let longest = loop.reductions.length > 0 ? longestWindow : 2 ** 31;
  while (contributionBytes(loop, longest) > maxStorageBufferBindingSize) longest /= 2;
  return longest;
}

/**
 * Gives up the rest of a window of at most `capacity` iterations, of which some are done and others
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
 * Reads the iterations in a list on the device, in order. The list holds their distances from
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
