/**
 * `belay-speculate`: executes loops on a GPU, and the functions by which programs say which loops.
 */

import type { SpeculateCall, Speculated, SpeculateOptions } from "./engine/call/call.ts";
import { speculate as run } from "./engine/speculate.ts";
import type { LoopData } from "./loops/javascript/sequential.ts";
import type { Reduction } from "./loops/tree/ir.ts";

export { SpeculationError } from "./diagnostics/speculation.ts";
export type {
  Engine,
  ExecutedLoop,
  SpeculateCall,
  Speculated,
  SpeculateOptions,
  Statistics,
} from "./engine/call/call.ts";
export type { EngineOutcome, LoopExecution } from "./engine/rounds/execution.ts";
export { type DeviceUse, useDevice } from "./engine/speculate.ts";
export { type Resident, resident } from "./engine/transfer/resident.ts";
export { type LoopTurn, type LoopUses, requireOnHost, takeTurn } from "./engine/writtenLoops.ts";
export type { LoopData, SequentialLoop } from "./loops/javascript/sequential.ts";
export type { Loop } from "./loops/tree/ir.ts";

/**
 * Before a loop: iterations may depend on each other through these arrays. Has no effect in a
 * program that is not translated.
 */
export function speculate(...arrays: readonly LoopData[]): void;
/** Executes a loop: what a translated program calls; see `speculate.ts`. */
export function speculate(call: SpeculateCall, options?: SpeculateOptions): Promise<Speculated>;
export function speculate(
  first?: SpeculateCall | LoopData,
  second?: SpeculateOptions | LoopData,
): Promise<Speculated> | undefined {
  return first && "loop" in first ? run(first, second as SpeculateOptions | undefined) : undefined;
}

/** Before a loop: it reduces these variables with the operator. Has no effect by itself. */
export function reduction(_operator: Reduction["operator"], ..._variables: readonly number[]): void {}

/** Before a loop: an iteration accesses at most so many elements. Has no effect by itself. */
export function accesses(_most: number): void {}

/**
 * Before a loop: it is executed with these options, such as the device. Has no effect in a program
 * that is not translated.
 */
export function configure(_options: SpeculateOptions): void {}

/** Before a loop: a round takes so many iterations. Has no effect by itself. */
export function schedule(_iterationsPerRound: number): void {}

/**
 * In a branch: makes iterations wrong, such as `"+1"` or `"+0:+4,20:30"`, or those with these
 * indices. Has no effect by itself.
 */
export function misspeculate(..._which: readonly (string | number)[]): void {}
