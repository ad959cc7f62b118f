import { storedOnly } from "../analysis/storedOnly.ts";
import type { Loop, LoopArray } from "../tree/ir.ts";
import { control } from "./addressKernel.ts";
import { type Effects, emitBody } from "./code/body.ts";
import {
  assembleKernel,
  type Kernel,
  numberInGrid,
  placeInGrid,
  type Resource,
  workgroupSize,
} from "./code/kernel.ts";
import { toBits, wgslName } from "./code/names.ts";
import { declareControl } from "./control.ts";
import { engineParameters, identify, indexAt } from "./marks.ts";
import { valuePrediction } from "./valuePrediction.ts";

type Name = "execute" | "executeHeld" | "executeCovering";

/**
 * The kernels that execute iterations of which no two can meet, reading and writing the arrays
 * themselves.
 *
 * - `execute`: those of a window.
 * - `executeHeld`: those that hold what they touch.
 * - `executeCovering`: those of a window, and sets a bit for each element that they store to of
 *   arrays that the loop only stores to.
 */
export function executeKernels(loop: Loop, isPredicted: boolean): Record<Name, Kernel> {
  return {
    execute: executeKernel(loop, "execute", isPredicted),
    executeHeld: executeKernel(loop, "executeHeld", false),
    executeCovering: executeKernel(loop, "executeCovering", isPredicted),
  };
}

/**
 * Three lists of iterations of the window: two of waiting ones, which take turns, and of those to
 * execute.
 */
export const lists = (access: "read" | "write"): Resource => ({ name: "lists", access, type: "array<u32>" });

const cover = `
fn cover(place: u32) { atomicOr(&covered[place >> 5u], 1u << (place & 31u)); }`.trim();

function executeKernel(loop: Loop, name: Name, isPredicted: boolean): Kernel {
  const held = name === "executeHeld";
  const covers = (array: LoopArray) => name === "executeCovering" && storedOnly(loop).includes(array.name);
  const predicted = isPredicted
    ? valuePrediction(loop, "carried_before", (slot) => `  control.carried[${slot}] = bits;`)
    : null;
  const effects: Effects = {
    load: ({ name }: LoopArray) => `  return peek_${wgslName(name)}(element);`,
    store: (array) =>
      `${covers(array) ? `  cover(${identify(array)});\n` : ""}  poke_${wgslName(array.name)}(element, bits);`,
    loadCarried: (_, slot) => `  return control.carried[${slot}];`,
    storeCarried: (_, slot) => `  control.carried[${slot}] = bits;`,
    escape: "",
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
      { name: "covered", access: "write", type: "array<atomic<u32>>" },
      ...contributions(loop),
    ],
    functions: [
      ...(name === "executeCovering" ? [cover] : []),
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
 * What each iteration adds to each reduction, by reduction and iteration; combined when the loop is
 * done.
 */
export function contributions({ reductions }: Loop): Resource[] {
  return reductions.length > 0 ? [{ name: "contributions", access: "write", type: "array<u32>" }] : [];
}

/** Keeps what the iteration `iteration` adds to the reductions. */
export function contribute({ reductions }: Loop): string {
  return reductions
    .map(({ name, type }, place) => {
      const bits = toBits(type, `reduced_${wgslName(name)}`);
      return `contributions[${place}u * params.count + iteration] = ${bits};`;
    })
    .join("\n  ");
}
