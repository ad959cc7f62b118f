/**
 * A call of a loop: what the plugin writes in its place, how it is executed, and what came of it.
 */

import type { LoopData, SequentialLoop } from "../../loops/javascript/sequential.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { PhaseTimes } from "../device/phaseTimer.ts";
import type { Workspace } from "../device/workspace.ts";
import type { EngineOutcome, LoopExecution } from "../rounds/execution.ts";
import type { Moved } from "../transfer/downloads.ts";
import type { OrderedOperation } from "../transfer/operationOrder.ts";
import type { Resident } from "../transfer/resident.ts";

/** One execution of a loop: what the plugin writes in its place. */
export interface SpeculateCall {
  readonly loop: Loop;
  readonly sequential: SequentialLoop;
  /** The loop's arrays, by name; changed in place. */
  readonly arrays: Readonly<Record<string, LoopData | Resident>>;
  readonly inputs: Readonly<Record<string, number>>;
  /** Values before the loop. */
  readonly carried: Readonly<Record<string, number>>;
  readonly reductions: Readonly<Record<string, number>>;
  /** The index in the first iteration, and what it changes by from one to the next. */
  readonly first: number;
  readonly step: number;
  /** How many iterations there are, unless the loop ends itself. */
  readonly count: number;
  /** The turn of the call, if it has one already and has come; whoever took it ends it. */
  readonly turn?: OrderedOperation;
}

/** How a loop is executed; everything has a default. */
export interface SpeculateOptions {
  /** Default: that of `useDevice`; without any, the CPU executes the loop. */
  readonly device?: GPUDevice;
  /**
   * The engine that executes the loop; `default` unless given. `sequential` is the CPU. A function
   * is an engine of the program's own.
   */
  readonly engine?: "default" | "sequential" | Engine<SpeculateOptions>;
  /**
   * `measured` leaves a loop, or the rest of it, to the CPU where that is faster; `never` executes
   * on the CPU only what the GPU cannot. Default: `measured`. Where the CPU rounds in another way
   * than a GPU may, with f32 arithmetic, no clock decides but the size of the loop and the number
   * of iterations executed in vain, so that the same program on the same device has the same result
   * each time; unless the device fails, or takes more than 0.2 s for a round, which has to become
   * shorter.
   */
  readonly fallback?: "measured" | "never";
  /**
   * Measures how long each phase takes on the GPU; needs the feature `timestamp-query`, and time.
   */
  readonly timings?: boolean;
  /**
   * Keeps the loop from being executed: it rejects with the signal's reason, and its arrays stay as
   * they are. A loop that has begun is executed to its end.
   */
  readonly signal?: AbortSignal;
  /**
   * Is told how the loop was executed, and why there. What it throws rejects the loop's promise.
   * Default: that of `useDevice`.
   */
  readonly onExecuted?: (loop: ExecutedLoop, statistics: Statistics) => void;
}

/** A loop that was executed. */
export interface ExecutedLoop {
  /** The name of the function around it, with a number where that has several loops. */
  readonly name: string;
  /** Where the loop stands in its file, in characters from its start: before `end`. */
  readonly span: { readonly start: number; readonly end: number };
}

/** What came of an execution. */
export interface Speculated {
  /** Values after the loop. */
  readonly carried: Record<string, number>;
  readonly reductions: Record<string, number>;
  /** Whether the loop ended itself with a `break`. */
  readonly ended: boolean;
  /** The first iteration that was not executed. */
  readonly next: number;
  readonly statistics: Statistics;
}

/** How a loop was executed. */
export interface Statistics {
  readonly engine: string;
  /** Why this engine. */
  readonly reason: string;
  /** How iterations were executed on the GPU. */
  readonly plans: readonly string[];
  /** Windows of iterations that the GPU was given. */
  readonly rounds: number;
  readonly committed: number;
  /** Iterations that a round looked at and left to a later one. */
  readonly misspeculated: number;
  /** Iterations that the CPU executed. */
  readonly onCpu: number;
  /** Milliseconds: all, and on the GPU by phase where that was asked for. */
  readonly time: number;
  readonly phases: PhaseTimes | null;
  readonly bytes: { readonly uploaded: number; readonly downloaded: number };
}

/**
 * Executes a loop: leaves the arrays in the buffers, and the variables in the execution, as the
 * sequential loop does.
 */
export type Engine<Options> = (
  workspace: Workspace,
  execution: LoopExecution,
  options: Options,
) => Promise<EngineOutcome>;

/** What came of an execution on the CPU alone. */
export function onCpuAlone({ next, ended }: { next: number; ended: boolean }): EngineOutcome {
  const nothing = { rounds: 0, misspeculated: 0, plans: [], phases: null };
  return { ...nothing, executed: next, ended, onCpu: next };
}

/** What a program is told of an execution, which began at `start`. */
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
    time: performance.now() - about.start,
    phases,
    bytes: about.moved,
  };
  return { carried, reductions, ended, next: executed, statistics };
}
