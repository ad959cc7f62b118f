/** Loops on the GPU: the engine that translated programs call, and the directives as functions. */
import type { LoopData } from "./loops/sequential.ts";
import {
  speculate as execute,
  type SpeculateCall,
  type Speculated,
  type SpeculateOptions,
} from "./speculation/speculate.ts";

export type { Loop } from "./loops/ir.ts";
export type { LoopData, SequentialLoop } from "./loops/sequential.ts";
export { Resident, resident } from "./speculation/resident.ts";
export {
  type SpeculateCall,
  type Speculated,
  type SpeculateOptions,
  type Statistics,
  useDevice,
} from "./speculation/speculate.ts";

/**
 * Before a loop: the arrays through which its iterations may depend on each other, as `//#pragma omp for target(webgpu)
 * speculate(a, b)` says it. Does nothing by itself.
 */
export function speculate(...arrays: readonly LoopData[]): void;
/** Executes a translated loop; the plugin writes these calls. See `speculation/speculate.ts`. */
export function speculate(call: SpeculateCall, options?: SpeculateOptions): Promise<Speculated>;
export function speculate(
  first?: LoopData | SpeculateCall,
  second?: LoopData | SpeculateOptions,
): Promise<Speculated> | undefined {
  if (!first || !("loop" in first)) return undefined;
  return execute(first, second as SpeculateOptions);
}

type Operator = "+" | "*" | "min" | "max" | "&" | "|" | "^";

/** Before a loop: variables that it only sums up, or otherwise reduces. Does nothing by itself. */
export function reduction(_operator: Operator, ..._variables: readonly number[]): void {}

/** Before a loop: how many elements an iteration accesses at most, where that cannot be counted. Does nothing by itself. */
export function accesses(_most: number): void {}

/** Before a loop: how many iterations a round takes. Does nothing by itself. */
export function schedule(_iterations: number): void {}

/**
 * In a branch: iterations that are wrong once it is taken. An index, or offsets to the current iteration: `"+1"`, `"-1,+1"`,
 * `"+0:+4"`, `"+0:"` for all that follow. Does nothing by itself.
 */
export function misspeculate(_which: number | string): void {}
