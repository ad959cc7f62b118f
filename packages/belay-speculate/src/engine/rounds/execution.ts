import { addressLoop } from "../../loops/analysis/addressLoop.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { PhaseTimes } from "../device/phaseTimer.ts";

/** One execution of a loop, with its arrays in buffers. */
export interface LoopExecution {
  readonly loop: Loop;
  /**
   * The buffer of each array, as large as its elements in a typed array, rounded up to four bytes.
   */
  readonly buffers: Readonly<Record<string, GPUBuffer>>;
  /** The number of elements of each array. */
  readonly lengths: Readonly<Record<string, number>>;
  readonly inputs: Readonly<Record<string, number>>;
  /** The index of the first iteration and the difference to the next index. */
  readonly first: number;
  readonly step: number;
  /** The number of iterations, unless the loop ends by a `break`. */
  readonly count: number;
  /** The values of the carried variables and the reductions: before the loop, then after it. */
  readonly carried: Record<string, number>;
  readonly reductions: Record<string, number>;
  /**
   * Executes iterations on the CPU, on the current contents of the buffers: first the waiting ones,
   * then those from `from` to `to - 1`. It stops early after so many milliseconds. Resolves to the
   * first iteration that was not executed, and whether the loop ended by a `break`.
   */
  onCpu(
    from: number,
    to: number,
    more?: { readonly waiting?: readonly IterationRange[]; readonly milliseconds?: number },
  ): Promise<{ readonly next: number; readonly ended: boolean }>;
}

/** The iterations from `from` to `to - 1`. */
export interface IterationRange {
  readonly from: number;
  readonly to: number;
}

/** The part of an execution that runs on the GPU. */
export type Part = Omit<LoopExecution, "onCpu">;

/** Returns some iterations of an execution, numbered from the first of them. */
export function partOf(execution: Part, from: number, count: number): Part {
  return { ...execution, first: execution.first + from * execution.step, count };
}

/**
 * Returns a key of the numbers from which all addresses of the iterations follow. Executions with
 * the same key access the same elements. Null if addresses follow from more than numbers.
 */
export function numbersOf({
  loop,
  inputs,
  carried,
  lengths,
  first,
  step,
  count,
}: Omit<Part, "buffers" | "reductions">): string | null {
  if (!addressLoop(loop)?.followsFromNumbers) return null;
  const values = [
    first,
    step,
    count,
    ...loop.inputs.map(({ name }) => inputs[name]!),
    ...loop.carried.map(({ name }) => carried[name]!),
    ...loop.arrays.map(({ name }) => lengths[name]!),
  ];
  return values.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join();
}

/** The outcome of an execution. */
export interface EngineOutcome {
  /** The number of iterations that were executed, up to the one that ended the loop. */
  readonly executed: number;
  readonly ended: boolean;
  readonly rounds: number;
  /** The number of iterations that misspeculated or were only checked. */
  readonly misspeculated: number;
  /** The number of iterations that the CPU executed. */
  readonly onCpu: number;
  /** The plans of the rounds on the GPU, in order. */
  readonly plans: readonly string[];
  readonly phases: PhaseTimes | null;
  /**
   * The names of arrays that were overwritten completely and never loaded from; null if unknown.
   */
  readonly overwritten?: readonly string[] | null;
}
