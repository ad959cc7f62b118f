import { hasOpenRounding } from "../loops/analysis/openRounding.ts";
import { CallArrays } from "./callArrays.ts";
import { Choice } from "./choice.ts";
import { CountedPace } from "./countedPace.ts";
import { DeviceFailure } from "./deviceFailure.ts";
import { engineOf } from "./engineOf.ts";
import type { EngineOutcome, Execution } from "./execution.ts";
import { becomeHabit } from "./habit.ts";
import { isSmall } from "./isSmall.ts";
import { recallOverwritten, rememberOverwritten } from "./overwritten.ts";
import type { Pace } from "./pace.ts";
import { numbersOf } from "./provenWindows.ts";
import { runInSlices } from "./slices.ts";
import type { SpeculateCall, Speculated, SpeculateOptions } from "./speculate.ts";
import { onCpuAlone, speculatedFrom } from "./speculatedFrom.ts";
import type { Workspace } from "./workspace.ts";

/** A state of the loop that the host has all of. */
interface Checkpoint {
  readonly next: number;
  readonly carried: Readonly<Record<string, number>>;
  readonly reductions: Readonly<Record<string, number>>;
}

/** One execution of a loop on a device, with all that comes before, after and between. */
export class DeviceCall {
  readonly #workspace: Workspace;
  readonly #call: SpeculateCall;
  readonly #options: SpeculateOptions;
  readonly #arrays: CallArrays;
  /** What executions that access the same elements have in common. */
  readonly #numbers: string | null;
  /** The variables as they are now. */
  readonly #carried: Record<string, number>;
  readonly #reductions: Record<string, number>;
  readonly #start = performance.now();
  #choice: Choice | null = null;
  #pace: Pace | null = null;
  #checkpoint: Checkpoint | null = null;

  /** The call must be one that the device can execute. */
  constructor(workspace: Workspace, call: SpeculateCall, options: SpeculateOptions) {
    this.#workspace = workspace;
    this.#call = call;
    this.#options = options;
    const lengths = Object.entries(call.arrays).map(([name, { length }]) => [name, length] as const);
    const isDefault = (options.engine ?? "default") === "default";
    this.#numbers = isDefault ? numbersOf({ ...call, lengths: Object.fromEntries(lengths) }) : null;
    this.#arrays = new CallArrays(call, recallOverwritten(call.loop, this.#numbers) ?? []);
    this.#carried = { ...call.carried };
    this.#reductions = { ...call.reductions };
  }

  async run(): Promise<Speculated> {
    const arrays = this.#arrays;
    await arrays.leaveOthers(this.#workspace);
    if (arrays.areOnHost) this.#keep(0);
    try {
      const { cpu, gpu, ...begun } = await this.#begin();
      if (begun.next === this.#call.count || begun.ended) {
        if (this.#choice?.isSure)
          becomeHabit(this.#workspace, this.#call, cpu, performance.now() - this.#start);
        return this.#result(onCpuAlone(begun), cpu);
      }
      return this.#result(await this.#onDevice(begun.next), gpu);
    } catch (error) {
      if (!(error instanceof DeviceFailure)) throw error;
      return this.#recover(error);
    } finally {
      arrays.giveBack();
    }
  }

  /** Executes on the CPU what should be, before the device is given the rest; and says why one is, or the other. */
  async #begin(): Promise<{ next: number; ended: boolean; cpu: string; gpu: string }> {
    const { loop, count } = this.#call;
    const arrays = this.#arrays;
    const { engine = "default", fallback } = this.#options;
    const why = { cpu: "the CPU is faster", gpu: "the program asked for it" };
    if (engine !== "default" || fallback === "never") return { next: 0, ended: false, ...why };
    if (!hasOpenRounding(loop)) {
      const choice = new Choice(this.#workspace, loop, count, arrays);
      const begun = await choice.tryCpu((from, to) => this.#onHostToKeep(from, to));
      this.#choice = choice;
      if (begun.next < count && !begun.ended) this.#pace = choice.pace();
      return { ...begun, ...why, gpu: "the GPU promised to be faster" };
    }
    this.#pace = new CountedPace();
    const size = { cpu: "the loop is small", gpu: "the loop is large" };
    if (!isSmall(loop, count, arrays.lengths, arrays.keptBytes)) return { next: 0, ended: false, ...size };
    await arrays.toHost();
    becomeHabit(this.#workspace, this.#call, size.cpu, Infinity);
    return { ...this.#onHostToKeep(0, count), ...size };
  }

  async #onDevice(done: number): Promise<EngineOutcome> {
    const { loop, inputs, first, step, count } = this.#call;
    const arrays = this.#arrays;
    const start = performance.now();
    const buffers = await arrays.toDevice(this.#workspace);
    await this.#workspace.allocated();
    const execution: Execution = {
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
        const reached = this.#onCpu(
          done + from,
          done + to,
          waiting.map((range) => ({ from: done + range.from, to: done + range.to })),
          milliseconds,
        );
        if (reached.next < count && !reached.ended) {
          if (milliseconds < Infinity) this.#choice?.observeTurn(reached.next);
          await arrays.toDevice(this.#workspace);
        }
        return { next: reached.next - done, ended: reached.ended };
      },
    };
    const outcome = await engineOf(this.#options, this.#pace)(this.#workspace, execution, this.#options);
    if (done === 0 && this.#numbers !== null && outcome.overwritten)
      rememberOverwritten(loop, this.#numbers, outcome.overwritten);
    await arrays.finish();
    this.#choice?.observeGpu(done + outcome.executed, performance.now() - start);
    return { ...outcome, executed: done + outcome.executed, onCpu: done + outcome.onCpu };
  }

  /** Executes iterations for an engine, on arrays that are up to date. */
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
    this.#pace?.observeCpu(executed, spent);
    this.#choice?.observeCpu(executed, spent);
    this.#keep(reached.next);
    return reached;
  }

  #onHost(from: number, to: number): { readonly next: number; readonly ended: boolean } {
    const { sequential, inputs, first, step } = this.#call;
    const all = { ...inputs, $first: first, $step: step };
    this.#arrays.hostChanged();
    return sequential(this.#arrays.hosts, all, this.#carried, this.#reductions, from, to);
  }

  /** The same when the host has all arrays as they are then. */
  #onHostToKeep(from: number, to: number): { readonly next: number; readonly ended: boolean } {
    const reached = this.#onHost(from, to);
    this.#keep(reached.next);
    return reached;
  }

  #keep(next: number): void {
    this.#checkpoint = { next, carried: { ...this.#carried }, reductions: { ...this.#reductions } };
  }

  /** Goes on in order from the last state that the host has, after the device has failed. */
  #recover(failure: DeviceFailure): Speculated {
    const checkpoint = this.#checkpoint;
    if (!checkpoint) throw this.#arrays.lost(failure);
    this.#arrays.forgetDevice();
    Object.assign(this.#carried, checkpoint.carried);
    Object.assign(this.#reductions, checkpoint.reductions);
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
