import { storedOnly } from "../analysis/storedOnly.ts";
import type { Loop, LoopArray } from "../tree/ir.ts";
import { control } from "./addressKernel.ts";
import { type Effects, emitBody } from "./code/body.ts";
import {
  assembleKernel,
  type EngineBuffer,
  type KernelMakers,
  type LoopKernel,
  numberInGrid,
  placeInGrid,
  workgroupSize,
} from "./code/kernel.ts";
import { wgslName } from "./code/names.ts";
import { wordsOf } from "./code/reduced.ts";
import { declareControl } from "./control.ts";
import { engineParameters, identify, indexAt } from "./marks.ts";
import { valuePrediction } from "./valuePrediction.ts";

type Name = "execute" | "executeHeld" | "executeRecordingStores";

/**
 * The kernels that execute iterations without conflicts, reading and writing the arrays themselves.
 * - `execute`: executes the iterations of a window.
 * - `executeHeld`: executes the iterations that hold their elements.
 * - `executeRecordingStores`: executes the iterations of a window. It sets a bit for each element
 *   stored to, in the arrays that the loop only stores to.
 */
export function executeKernels(loop: Loop, isPredicted: boolean): KernelMakers<Name> {
  return {
    execute: () => executeKernel(loop, "execute", isPredicted),
    executeHeld: () => executeKernel(loop, "executeHeld", false),
    executeRecordingStores: () => executeKernel(loop, "executeRecordingStores", isPredicted),
  };
}

/**
 * Three lists of iterations of the window: two of waiting iterations, used alternately, and one of
 * the iterations to execute.
 */
export const lists = (access: "read" | "write"): EngineBuffer => ({
  name: "lists",
  access,
  type: "array<u32>",
});

const recordStore = `
fn record_store(place: u32) { atomicOr(&stored_bits[place >> 5u], 1u << (place & 31u)); }`.trim();

function executeKernel(loop: Loop, name: Name, isPredicted: boolean): LoopKernel {
  const held = name === "executeHeld";
  const recordsStores = (array: LoopArray) =>
    name === "executeRecordingStores" && storedOnly(loop).includes(array.name);
  const predicted = isPredicted
    ? valuePrediction(loop, "carried_before", (slot) => `  control.carried[${slot}] = bits;`)
    : null;
  const effects: Effects = {
    load: ({ name }: LoopArray) => `  return peek_${wgslName(name)}(element);`,
    store: (array) =>
      `${recordsStores(array) ? `  record_store(${identify(array)});\n` : ""}  poke_${wgslName(array.name)}(element, bits);`,
    loadCarried: (_, slot) => `  return control.carried[${slot}];`,
    storeCarried: (_, slot) => `  control.carried[${slot}] = bits;`,
    bailOut: "",
    endLoop: "",
    misspeculate: "",
    ...predicted?.effects,
  };
  return assembleKernel({
    name,
    loop,
    parameters: engineParameters(loop),
    declarations: [declareControl(loop.carried.length)],
    resources: [
      loop.carried.length > 0 ? control : { ...control, access: "read" },
      ...(held ? [lists("read")] : []),
      { name: "stored_bits", access: "write", type: "array<atomic<u32>>" },
      ...contributions(loop),
    ],
    functions: [
      ...(name === "executeRecordingStores" ? [recordStore] : []),
      ...(predicted ? [predicted.declaration] : []),
      emitBody(loop, effects),
      `@compute @workgroup_size(${workgroupSize})
fn ${name}(${placeInGrid}) {
  let place = ${numberInGrid};
  if (place >= control.executing) { return; }
  let iteration = control.executing_base + ${held ? "lists[2u * params.capacity + place]" : "place"};
  fuel = params.fuel;
  start_reductions();${predicted ? `\n  ${predicted.start}` : ""}
  iterate(${indexAt(loop, "iteration")});
  ${contribute(loop)}
}`,
    ],
  });
}

/**
 * The contributions to the reductions, by word and iteration. They are combined at the end of
 * the loop.
 */
export function contributions({ reductions }: Loop): EngineBuffer[] {
  return reductions.length > 0 ? [{ name: "contributions", access: "write", type: "array<u32>" }] : [];
}

/** Returns the statements that keep the contributions of an iteration. */
export function contribute({ reductions }: Loop, iteration = "iteration"): string {
  return reductions
    .flatMap(wordsOf)
    .map((word, place) => `contributions[${place}u * params.count + ${iteration}] = ${word};`)
    .join("\n  ");
}
