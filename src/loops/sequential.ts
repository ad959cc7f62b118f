/**
 * The loop on the CPU: what a speculated loop falls back to, recovers with, and is compared with.
 *
 * A `SequentialLoop` executes the iterations `from` to `to - 1` in order and exactly as JavaScript does, with f32
 * arithmetic rounded after each operation. Iterations count from 0: iteration `k` sees the index `$first + k * $step`, which the
 * caller gives among the inputs. Arrays are changed in place; `carried` and `reductions` hold the values of these
 * variables before, and are updated. It returns the first iteration that it did not execute, and whether the loop ended
 * itself with a `break`, in which case no further iteration may be executed.
 */

/** Any array that a loop may access. */
export type LoopData =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array;

export type SequentialLoop = (
  arrays: Readonly<Record<string, LoopData>>,
  /** The loop's inputs, and `$first` and `$step`. */
  inputs: Readonly<Record<string, number>>,
  carried: Record<string, number>,
  reductions: Record<string, number>,
  from: number,
  to: number,
) => { readonly next: number; readonly ended: boolean };
