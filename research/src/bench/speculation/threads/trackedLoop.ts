/**
 * A loop as JavaScript that tracks its accesses to written arrays. Threads can then execute blocks
 * of its iterations before their inputs are certain.
 */

import { type SharedAccesses, writeBody } from "belay-speculate/internal/loops/javascript/javaScriptBody";
import type { Loop } from "belay-speculate/internal/loops/tree/ir";
import { Writer } from "belay-speculate/internal/loops/tree/writer";

/**
 * The accesses of one thread's block of iterations, and a copy of its writes; keys count all
 * tracked elements.
 */
export interface Track {
  /** The round in which the block last wrote each element. */
  readonly written: Int32Array;
  readonly round: number;
  readonly reads: Int32Array;
  readCount: number;
  readonly writes: Int32Array;
  writeCount: number;
  /** The written values, by array, in the type and length of the array. */
  readonly values: Readonly<Record<string, Int32Array>>;
  /** The iterations and loop turns that are left; below zero the block is abandoned. */
  fuel: number;
}

/** The key of the first element of each tracked array. Carried variables are arrays of one. */
export type FirstKeys = Readonly<Record<string, number>>;

/**
 * Returns the body of `new Function("arrays", "inputs", "keys", "track", "reduced", "from", "to",
 * …)`. It executes iterations `from` to `to - 1`, adds to `reduced`, and returns whether the loop
 * ended itself. It throws `track` when it runs out of fuel.
 */
export function emitTrackedLoop(loop: Loop): string {
  const carried = loop.carried.map(({ name }) => name);
  const tracked = loop.arrays.filter(({ role }) => role !== "read").map(({ name }) => name);
  const accesses: SharedAccesses = {
    load: (array, index) => (tracked.includes(array) ? `load_${array}(${index})` : `a_${array}[${index}]`),
    store: (array, index, value) => `store_${array}(${index}, ${value})`,
    loadCarried: (name) => `load_${name}(0)`,
    storeCarried: (name, value) => `store_${name}(0, ${value})`,
    eachIteration: "if (--track.fuel < 0) throw track;",
  };
  const writer = new Writer();
  writer.line('"use strict";');
  for (const name of [...loop.arrays.map(({ name }) => name), ...carried])
    writer.line(`const a_${name} = arrays.${name};`);
  for (const { name } of loop.inputs) writer.line(`const i_${name} = inputs.${name};`);
  for (const name of [...tracked, ...carried]) writer.line(accessors(name));
  for (const { name } of loop.reductions) writer.line(`let r_${name} = reduced.${name};`);
  writer.line("let ended = false;");
  writer.open("iterations: for (let k = from; k < to; k++) {");
  writer.line("const index = inputs.$first + k * inputs.$step;");
  writeBody(writer, loop, accesses);
  writer.close("}");
  for (const { name } of loop.reductions) writer.line(`reduced.${name} = r_${name};`);
  writer.line("return ended;");
  return writer.text;
}

function accessors(name: string): string {
  return `const k_${name} = keys.${name}, v_${name} = track.values.${name};
const load_${name} = (i) => {
  if (!(i >>> 0 === i && i < a_${name}.length)) return a_${name}[i];
  const key = k_${name} + i;
  if (track.written[key] === track.round) return v_${name}[i];
  track.reads[track.readCount++] = key;
  return a_${name}[i];
};
const store_${name} = (i, value) => {
  if (!(i >>> 0 === i && i < a_${name}.length)) return;
  const key = k_${name} + i;
  if (track.written[key] !== track.round) {
    track.written[key] = track.round;
    track.writes[track.writeCount++] = key;
  }
  v_${name}[i] = value;
};`;
}
