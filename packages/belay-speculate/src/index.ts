/**
 * `belay-speculate`: executes loops on a GPU, and the functions by which programs say which loops.
 */

import type { SpeculateOptions } from "./engine/call/call.ts";
import { type Resident, resident as residentArray } from "./engine/transfer/resident.ts";
import type { LoopData } from "./loops/javascript/sequential.ts";
import type { ReductionOperator } from "./loops/tree/ir.ts";

export { SpeculationError } from "./diagnostics/speculation.ts";
export type { ExecutedLoop, SpeculateOptions, Statistics } from "./engine/call/call.ts";
export type { PhaseName, PhaseTimes } from "./engine/device/phaseTimer.ts";
export { type DeviceUse, useDevice } from "./engine/speculate.ts";
export type { Resident } from "./engine/transfer/resident.ts";
export type { LoopData } from "./loops/javascript/sequential.ts";
export type { ReductionOperator } from "./loops/tree/ir.ts";

/**
 * Before a loop: iterations may depend on each other through these arrays. Has no effect by itself.
 */
export function speculate(..._arrays: readonly LoopData[]): void {}

/** Before a loop: it reduces these variables with the operator. Has no effect by itself. */
export function reduction(_operator: ReductionOperator, ..._variables: readonly number[]): void {}

/** Before a loop: an iteration accesses at most so many elements. Has no effect by itself. */
export function accesses(_most: number): void {}

/**
 * Before a loop: it is executed with these options, such as the device. Has no effect by itself.
 */
export function configure(_options: SpeculateOptions): void {}

/** Before a loop: its floats need 32 bits only. Has no effect by itself. */
export function precision(_bits: "f32"): void {}

/** Before a loop: a round takes so many iterations. Has no effect by itself. */
export function schedule(_iterationsPerRound: number): void {}

/**
 * In a branch: makes iterations wrong, such as `"+1"` or `"+0:+4,20:30"`, or those with these
 * indices. Has no effect by itself.
 */
export function misspeculate(..._which: readonly (string | number)[]): void {}

/**
 * Keeps an array on the GPU between loops until it is released, also in translated functions that
 * receive the array itself. Throws a `SpeculationError` (BELAY542) for anything but a typed array
 * that a loop may use.
 */
export function resident<Data extends LoopData>(array: Data): Resident<Data> {
  return residentArray(array);
}
