import { DeviceFailure } from "../device/deviceFailure.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Handover } from "../policy/handover.ts";
import { runDefault } from "../rounds/defaultEngine.ts";
import { type EngineOutcome, type LoopExecution, numbersOf } from "../rounds/execution.ts";
import { CallArrays } from "../transfer/callArrays.ts";
import {
  beginStep,
  type ExecutionOptions,
  onCpuAlone,
  type SpeculateCall,
  type Speculated,
  speculatedFrom,
} from "./call.ts";
import { CallPlacement } from "./callPlacement.ts";
import { whyNotNumbers } from "./eligibility.ts";
import { repeatFrom } from "./repeatedCalls.ts";
import { runInSlices } from "./slices.ts";

/** A state of the loop that the host has completely. */
interface Checkpoint {
  readonly next: number;
  readonly carried: Readonly<Record<string, number>>;
  readonly reductions: Readonly<Record<string, number>>;
}

/** One execution of a loop on a device, including transfers, the CPU's part and recovery. */
export class DeviceCall {
  readonly #workspace: Workspace;
  readonly #call: SpeculateCall;
  readonly #options: ExecutionOptions;
  readonly #arrays: CallArrays;
  /**
   * The key that executions share if they access the same elements. Null if there is no such key.
   */
  readonly #numbers: string | null;
  /** The current values of the variables. */
  readonly #carried: Record<string, number>;
  readonly #reductions: Record<string, number>;
  readonly #start = performance.now();
  /** The placement of the call. Null if the program itself decided where to execute it. */
  #placement: CallPlacement | null = null;
  #handover: Handover | null = null;
  #checkpoint: Checkpoint | null = null;

  /** Prepares a call that the device can execute. */
  constructor(workspace: Workspace, call: SpeculateCall, options: ExecutionOptions) {
    this.#workspace = workspace;
    this.#call = call;
    this.#options = options;
    const lengths = Object.entries(call.arrays).map(([name, { length }]) => [name, length] as const);
    const isDefault = (options.engine ?? "default") === "default";
    this.#numbers = isDefault ? numbersOf({ ...call, lengths: Object.fromEntries(lengths) }) : null;
    const { overwritten } = workspace.profileOf(call.loop);
    this.#arrays = new CallArrays(call, overwritten.get(this.#numbers) ?? []);
    this.#carried = { ...call.carried };
    this.#reductions = { ...call.reductions };
  }

  async run(): Promise<Speculated> {
    const arrays = this.#arrays;
    await arrays.leaveOthers(this.#workspace);
    if (arrays.areOnHost) this.#keep(0);
    try {
      const { engine = "default", fallback } = this.#options;
      if (engine !== "default" || fallback === "never")
        return this.#result(await this.#onDevice(0), "the program asked for it");
      this.#beginStep(0, "CPU");
      const placement = new CallPlacement(this.#workspace, this.#call, arrays);
      this.#placement = placement;
      const begun = this.#toEndIfWide(await placement.begin((from, to) => this.#onHostToKeep(from, to)));
      const { reason } = placement;
      if (begun.next < this.#call.count && !begun.ended)
        return this.#result(await this.#onDevice(begun.next), reason);
      const time = placement.repeatTime(performance.now() - this.#start);
      if (time !== null) repeatFrom(this.#workspace, this.#call, reason, time);
      return this.#result(onCpuAlone(begun), reason);
    } catch (error) {
      if (!(error instanceof DeviceFailure)) throw error;
      return this.#recover(error);
    } finally {
      arrays.giveBack();
    }
  }

  async #onDevice(done: number): Promise<EngineOutcome> {
    const { loop, inputs, first, step, count } = this.#call;
    const arrays = this.#arrays;
    const start = performance.now();
    this.#handover = this.#placement?.handover() ?? null;
    const buffers = await arrays.toDevice(this.#workspace);
    await this.#workspace.allocated();
    const execution: LoopExecution = {
      loop,
      inputs,
      step,
      first: first + done * step,
      count: count - done,
      carried: this.#carried,
      reductions: this.#reductions,
      buffers,
      lengths: arrays.lengths,
      onCpu: async (from, to, { waiting = [], milliseconds = Infinity } = {}) => {
        await arrays.toHost();
        this.#beginStep(done + from, "CPU");
        const reached = this.#toEndIfWide(
          this.#onCpu(
            done + from,
            done + to,
            waiting.map((range) => ({ from: done + range.from, to: done + range.to })),
            milliseconds,
          ),
        );
        if (reached.next < count && !reached.ended) {
          if (milliseconds < Infinity) this.#placement?.observeTurn(reached.next);
          await arrays.toDevice(this.#workspace);
        }
        return { next: reached.next - done, ended: reached.ended };
      },
    };
    const outcome = await this.#engine(execution, done);
    if (done === 0 && this.#numbers !== null && outcome.overwritten)
      this.#workspace.profileOf(loop).overwritten.set(this.#numbers, outcome.overwritten);
    await arrays.finish();
    this.#placement?.observeGpu(done + outcome.executed, performance.now() - start);
    return { ...outcome, executed: done + outcome.executed, onCpu: done + outcome.onCpu };
  }

  /**
   * Executes the loop after the first `done` iterations with the engine that the program asks for.
   * The default engine leaves the loop to the CPU when the handover is due.
   */
  #engine(execution: LoopExecution, done: number): Promise<EngineOutcome> {
    const { engine, timings = false } = this.#options;
    if (typeof engine === "function") return engine(this.#workspace, execution, this.#options);
    const beforeRounds = (executed: number) => this.#beginStep(done + executed, "GPU");
    return runDefault(this.#workspace, execution, { timings, handover: this.#handover, beforeRounds });
  }

  #beginStep(done: number, processor: "CPU" | "GPU"): void {
    beginStep(this.#options, { done, total: this.#call.count, processor });
  }

  /** Executes iterations for an engine. The host's arrays must be up to date. */
  #onCpu(
    from: number,
    to: number,
    waiting: readonly { readonly from: number; readonly to: number }[],
    milliseconds: number,
  ): { next: number; ended: boolean } {
    for (const range of waiting) {
      if (this.#onHost(range.from, range.to).ended) return { next: from, ended: true };
    }
    let [spent, executed] = [0, 0];
    const reached = runInSlices(
      (first, end) => this.#onHost(first, end),
      from,
      to,
      ({ iterations, time }) => {
        spent += time;
        executed += iterations;
        return spent < milliseconds;
      },
    );
    this.#handover?.observeCpu(executed, spent);
    this.#placement?.observeCpu(executed, spent);
    this.#keep(reached.next);
    return reached;
  }

  #onHost(from: number, to: number): { readonly next: number; readonly ended: boolean } {
    const { sequential, inputs, first, step } = this.#call;
    const all = { ...inputs, $first: first, $step: step };
    this.#arrays.hostChanged();
    return sequential(this.#arrays.hosts, all, this.#carried, this.#reductions, from, to);
  }

  /**
   * Executes the remaining iterations on the host too if the CPU has left an integer in a carried
   * variable that its type does not hold.
   */
  #toEndIfWide(reached: { readonly next: number; readonly ended: boolean }) {
    const { loop, count } = this.#call;
    const isAtEnd = reached.ended || reached.next === count;
    return isAtEnd || whyNotNumbers(loop.carried, this.#carried) === null
      ? reached
      : this.#onHostToKeep(reached.next, count);
  }

  /** Executes iterations on the host and keeps the state. The host must have all arrays. */
  #onHostToKeep(from: number, to: number): { readonly next: number; readonly ended: boolean } {
    const reached = this.#onHost(from, to);
    this.#keep(reached.next);
    return reached;
  }

  #keep(next: number): void {
    this.#checkpoint = { next, carried: { ...this.#carried }, reductions: { ...this.#reductions } };
  }

  /**
   * Continues in order from the last state that the host has, after the device has failed. Throws
   * an error if the host has no such state.
   */
  #recover(failure: DeviceFailure): Speculated {
    const checkpoint = this.#checkpoint;
    if (!checkpoint) throw this.#arrays.lost(failure);
    this.#arrays.forgetDevice();
    Object.assign(this.#carried, checkpoint.carried);
    Object.assign(this.#reductions, checkpoint.reductions);
    this.#beginStep(checkpoint.next, "CPU");
    const reached = this.#onHost(checkpoint.next, this.#call.count);
    return this.#result(onCpuAlone(reached), `the device failed: ${failure.message}`);
  }

  #result(outcome: EngineOutcome, reason: string): Speculated {
    const { engine = "default" } = this.#options;
    const name = typeof engine === "function" ? engine.name : engine;
    const variables = { carried: this.#carried, reductions: this.#reductions };
    const about = { engine: name, reason, start: this.#start, moved: this.#arrays.moved };
    return speculatedFrom(outcome, variables, about);
  }
}
