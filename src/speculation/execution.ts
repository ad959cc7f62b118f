import type { Loop } from "../loops/ir.ts";

/** One execution of a loop, whose arrays lie in buffers. */
export interface Execution {
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
  /** Values of the carried variables and the reductions: those before the loop, then those after it. */
  readonly carried: Record<string, number>;
  readonly reductions: Record<string, number>;
  /**
   * Executes iterations on the CPU, on what is in the buffers now; resolves to the first that was not executed, and
   * whether the loop ended itself.
   */
  onCpu(from: number, to: number): Promise<{ readonly next: number; readonly ended: boolean }>;
}
