/** A call of a loop: the data that the plugin's code passes, the options and the result. */

import type { LongWork } from "belay-gpu";
import type { LoopData, SequentialLoop } from "../../loops/javascript/sequential.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { PhaseTimes } from "../device/phaseTimer.ts";
import type { Workspace } from "../device/workspace.ts";
import type { EngineOutcome, LoopExecution } from "../rounds/execution.ts";
import type { Moved } from "../transfer/downloads.ts";
import type { OrderedOperation } from "../transfer/operationOrder.ts";
import type { ResidentArray } from "../transfer/resident.ts";

/** One execution of a loop. The plugin replaces the loop with a call that passes this data. */
export interface SpeculateCall {
  readonly loop: Loop;
  readonly sequential: SequentialLoop;
  /** The loop's arrays, by name. The execution changes them in place. */
  readonly arrays: Readonly<Record<string, LoopData | ResidentArray>>;
  readonly inputs: Readonly<Record<string, number>>;
  /** The carried variables' values before the loop. */
  readonly carried: Readonly<Record<string, number>>;
  readonly reductions: Readonly<Record<string, number>>;
  /** The index in the first iteration, and its change from one iteration to the next. */
  readonly first: number;
  readonly step: number;
  /** The number of iterations, unless the loop ends itself. */
  readonly count: number;
  /**
   * The turn of the call, if the caller has taken it already and it has come. The caller ends it.
   */
  readonly turn?: OrderedOperation;
  /** The function that makes a call of words of this call, for a loop with doubles. */
  readonly doubles?: (call: SpeculateCall) => WordCall;
}

/** A call of words in place of doubles, and the function that makes its result one of doubles. */
export interface WordCall {
  readonly call: SpeculateCall;
  readonly doublesOf: (done: Speculated) => Speculated;
}

/** The options of an execution. Each option has a default. */
export interface SpeculateOptions extends LongWork {
  /**
   * The device that executes the loop. Default: the device of `useDevice`. Without a device, the
   * CPU executes the loop.
   */
  readonly device?: GPUDevice;
  /** The engine that executes the loop. Default: `default`. The engine `sequential` is the CPU. */
  readonly engine?: "default" | "sequential";
  /**
   * The choice between the GPU and the CPU. The value `measured` leaves a loop, or the rest of it,
   * to the CPU if the CPU is faster. The value `never` leaves only the work to the CPU that the GPU
   * cannot execute. Default: `measured`.
   *
   * A GPU may round f32 arithmetic in another way than the CPU. For such a loop, `measured` uses no
   * clock. It decides by the size of the loop and the number of iterations executed in vain. The
   * same program on the same device then has the same result each time. The result may differ if
   * the device fails. It may also differ if a round takes more than 0.2 s, as rounds then become
   * shorter.
   */
  readonly fallback?: "measured" | "never";
  /**
   * True if the time of each phase on the GPU is measured. The measurement takes time and needs the
   * feature `timestamp-query`.
   */
  readonly timings?: boolean;
  /**
   * The signal that aborts the loop. The call then rejects with the signal's reason. An abort takes
   * effect before the next rounds on the GPU, or the next iterations on the CPU. The arrays stay
   * unchanged if the loop has not begun. Otherwise the contents of the arrays that it changes are
   * unspecified.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The listener to call before rounds on the GPU and before iterations on the CPU. `done` and
   * `total` count iterations; a loop may end itself earlier. An error of the listener ends the loop
   * as an abort does.
   */
  readonly onProgress?: LongWork["onProgress"];
  /**
   * The listener to call after the execution, with the engine and the reason for it. An error of
   * the listener rejects the loop's promise. Default: the listener of `useDevice`.
   */
  readonly onExecuted?: (loop: ExecutedLoop, statistics: Statistics) => void;
}

/** The options of an execution by any engine. */
export interface ExecutionOptions extends Omit<SpeculateOptions, "engine"> {
  /** The engine, as in {@link SpeculateOptions}, or a function that is one. */
  readonly engine?: "default" | "sequential" | Engine;
}

/** A loop that was executed. */
export interface ExecutedLoop {
  /** The name of the function around the loop, with a number if the function has several loops. */
  readonly name: string;
  /** The position of the loop in its file, in characters. `end` is exclusive. */
  readonly span: { readonly start: number; readonly end: number };
}

/** The result of an execution. */
export interface Speculated {
  /** The carried variables' values after the loop. */
  readonly carried: Record<string, number>;
  readonly reductions: Record<string, number>;
  /** True if the loop ended itself with a `break`. */
  readonly ended: boolean;
  /** The first iteration that was not executed. */
  readonly next: number;
  readonly statistics: Statistics;
}

/** The statistics of an execution. */
export interface Statistics {
  /** The engine that executed the loop: `default`, or `sequential` for the CPU. */
  readonly engine: string;
  /** The reason for this engine. */
  readonly reason: string;
  /** The plans by which the GPU executed iterations. */
  readonly plans: readonly string[];
  /** The number of rounds on the GPU. Each round executes a window of iterations. */
  readonly rounds: number;
  /** The number of iterations that were executed, on the GPU and on the CPU. */
  readonly committed: number;
  /** The number of iterations that a round examined and left to a later round. */
  readonly misspeculated: number;
  /** The number of iterations that the CPU executed. */
  readonly onCpu: number;
  /** The milliseconds of the whole execution. */
  readonly milliseconds: number;
  /** The milliseconds of each phase on the GPU; null if the program did not ask for them. */
  readonly phases: PhaseTimes | null;
  /** The bytes that were moved to the device and back. */
  readonly bytes: { readonly uploaded: number; readonly downloaded: number };
}

/**
 * The function that executes a loop. It leaves the arrays in the buffers and the variables in the
 * execution, with the values of the sequential loop.
 */
export type Engine = (
  workspace: Workspace,
  execution: LoopExecution,
  options: ExecutionOptions,
) => Promise<EngineOutcome>;

/**
 * Tells the listener that further iterations begin. Throws the signal's reason after an abort, and
 * an error of the listener.
 */
export function beginStep(
  { signal, onProgress }: LongWork,
  {
    done,
    total,
    processor,
  }: { readonly done: number; readonly total: number; readonly processor: "CPU" | "GPU" },
): void {
  onProgress?.({ done, total, doing: `iterations on the ${processor}` });
  signal?.throwIfAborted();
}

/** Returns the outcome of an execution on the CPU alone. */
export function onCpuAlone({ next, ended }: { next: number; ended: boolean }): EngineOutcome {
  const nothing = { rounds: 0, misspeculated: 0, plans: [], phases: null };
  return { ...nothing, executed: next, ended, onCpu: next };
}

/** Returns the result of an execution that began at `start`. */
export function speculatedFrom(
  { executed, ended, rounds, misspeculated, onCpu, plans, phases }: EngineOutcome,
  { carried, reductions }: Pick<Speculated, "carried" | "reductions">,
  about: { readonly engine: string; readonly reason: string; readonly start: number; readonly moved: Moved },
): Speculated {
  const statistics = {
    engine: onCpu === executed && rounds === 0 ? "sequential" : about.engine,
    reason: about.reason,
    plans,
    rounds,
    committed: executed,
    misspeculated,
    onCpu,
    milliseconds: performance.now() - about.start,
    phases,
    bytes: about.moved,
  };
  return { carried, reductions, ended, next: executed, statistics };
}
