import { addressLoop } from "../../loops/analysis/addressLoop.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { PhaseTimes } from "../device/phaseTimer.ts";

/** One execution of a loop, whose arrays lie in buffers. */
export interface LoopExecution {
  readonly loop: Loop;
  /** By array, as large as its elements in a typed array, rounded up to four bytes. */
  readonly buffers: Readonly<Record<string, GPUBuffer>>;
  /** Elements of each array. */
  readonly lengths: Readonly<Record<string, number>>;
  readonly inputs: Readonly<Record<string, number>>;
  /** The index of the first iteration, and what it changes by. */
  readonly first: number;
  readonly step: number;
  /** How many iterations there are, unless the loop ends itself. */
  readonly count: number;
  /**
   * Values of the carried variables and the reductions: those before the loop, then those after it.
   */
  readonly carried: Record<string, number>;
  readonly reductions: Record<string, number>;
  /**
   * Executes iterations on the CPU, on what is in the buffers now: those that wait, and then from
   * `from` to `to - 1`, or as many as it can in so many milliseconds. Resolves to the first that
   * was not executed, and whether the loop ended itself.
   */
  onCpu(
    from: number,
    to: number,
    more?: { readonly waiting?: readonly IterationRange[]; readonly milliseconds?: number },
  ): Promise<{ readonly next: number; readonly ended: boolean }>;
}

/** Iterations from `from` to `to - 1`. */
export interface IterationRange {
  readonly from: number;
  readonly to: number;
}

/** What an execution does on the GPU. */
export type Part = Omit<LoopExecution, "onCpu">;

/** Some iterations of an execution, counted from the first of them. */
export function partOf(execution: Part, from: number, count: number): Part {
  return { ...execution, first: execution.first + from * execution.step, count };
}

/**
 * Writes down the numbers that all addresses of the iterations follow from, before they are
 * executed: executions with the same ones access the same elements. Null where addresses follow
 * from more than numbers.
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

/** What came of an execution. */
export interface EngineOutcome {
  /** Iterations that were executed, up to the one that ended the loop. */
  readonly executed: number;
  readonly ended: boolean;
  readonly rounds: number;
  /** Iterations that were executed, or looked at, in vain. */
  readonly misspeculated: number;
  /** Iterations that the CPU executed. */
  readonly onCpu: number;
  /** How iterations were executed on the GPU. */
  readonly plans: readonly string[];
  readonly phases: PhaseTimes | null;
  /**
   * Names of arrays that were overwritten completely and never loaded from; null where that is not
   * known.
   */
  readonly overwritten?: readonly string[] | null;
}
