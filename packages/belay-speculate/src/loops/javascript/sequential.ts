/**
 * The loop on the CPU. A speculated loop falls back to it, recovers with it, and is compared with
 * it.
 * A `SequentialLoop` executes the iterations `from` to `to - 1` in order and exactly as JavaScript
 * does. If 32 bits will do, f32 arithmetic is rounded after each operation. Iterations count from
 * 0. Iteration `k` sees the index `$first + k * $step`, which the caller gives among the inputs.
 * The function changes arrays in place, and updates the values in `carried` and `reductions`. It
 * returns the first iteration that it did not execute, and whether the loop ended by a `break`.
 * After a `break`, no further iteration may be executed.
 * The tree of a loop has the shape of its source. Each operator therefore becomes JavaScript's
 * operator, and elements that do not exist are `undefined` as in the source. Only the source's
 * coercions are applied.
 */
import type { Loop } from "../tree/ir.ts";
import { reducedVariables } from "../tree/walk.ts";
import { Writer } from "../tree/writer.ts";
import { type SharedAccesses, writeBody } from "./javaScriptBody.ts";

/** Any array that a loop may access. */
export type LoopData =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;

/**
 * A function that executes iterations of a loop in order, as described at the head of this file.
 */
export type SequentialLoop = (
  arrays: Readonly<Record<string, LoopData>>,
  /** The loop's inputs, and `$first` and `$step`. */
  inputs: Readonly<Record<string, number>>,
  carried: Record<string, number>,
  reductions: Record<string, number>,
  from: number,
  to: number,
) => { readonly next: number; readonly ended: boolean };

/** Compiles the CPU version of a loop. */
export function sequentialLoop(loop: Loop): SequentialLoop {
  return new Function(`return ${sequentialSource(loop)};`)() as SequentialLoop;
}

/**
 * Returns the accesses to arrays. Elements outside of a copy belong to what it is a copy of, and a
 * copy cannot hold `undefined`.
 */
function accessesOf({ arrays }: Loop): Pick<SharedAccesses, "load" | "store"> {
  const copies = new Set(arrays.flatMap(({ name, isCopy }) => (isCopy ? [name] : [])));
  return {
    load: (array, index) =>
      copies.has(array) ? `(a_${array}[${index}] ?? a_${array}.leave())` : `a_${array}[${index}]`,
    store: (array, index, value) =>
      copies.has(array)
        ? `a_${array}[(${index}) in a_${array} ? (${index}) : a_${array}.leave()] = (${value}) ?? a_${array}.leave()`
        : `a_${array}[${index}] = ${value}`,
  };
}

const directly: Omit<SharedAccesses, "load" | "store"> = {
  loadCarried: (name) => `c_${name}`,
  storeCarried: (name, value) => `c_${name} = ${value}`,
  eachIteration: "",
};

/**
 * Returns the CPU version of a loop as JavaScript: an expression that is a {@link SequentialLoop}.
 * It rounds after each operation of an f32 if `roundsFloats`.
 */
export function sequentialSource(loop: Loop, roundsFloats = true): string {
  const writer = new Writer();
  const unpack = (
    kind: string,
    object: string,
    prefix: string,
    names: readonly { readonly name: string }[],
  ) => {
    if (names.length === 0) return;
    const pairs = names.map(({ name }) => `${name}: ${prefix}${name}`);
    writer.line(`${kind} { ${pairs.join(", ")} } = ${object};`);
  };
  writer.open("(arrays, inputs, carried, reductions, from, to) => {");
  unpack("const", "arrays", "a_", loop.arrays);
  unpack("const", "inputs", "i_", loop.inputs);
  unpack("let", "carried", "c_", loop.carried);
  unpack("let", "reductions", "r_", reducedVariables(loop));
  writer.line("const { $first, $step } = inputs;");
  writer.line("let ended = false;");
  writer.line("let k = from;");
  writer.open("iterations: for (; k < to; k++) {");
  writer.line("const index = $first + k * $step;");
  writeBody(writer, loop, { ...directly, ...accessesOf(loop) }, roundsFloats);
  writer.close("}");
  for (const { name } of loop.carried) writer.line(`carried.${name} = c_${name};`);
  for (const { name } of reducedVariables(loop)) writer.line(`reductions.${name} = r_${name};`);
  writer.line("return { next: ended ? k + 1 : k, ended };");
  writer.close("}");
  return writer.text;
}
