import type { Loop } from "../tree/ir.ts";
import { type Effects, emitBody } from "./code/body.ts";
import {
  assembleKernel,
  type EngineBuffer,
  type LoopKernel,
  numberInGrid,
  placeInGrid,
  workgroupSize,
} from "./code/kernel.ts";
import { wgslName } from "./code/names.ts";
import { type AtomicWord, declareControl } from "./control.ts";
import { engineParameters, identify, indexAt, markFunctions } from "./marks.ts";

export const control: EngineBuffer = { name: "control", access: "write", type: "Control" };
export const inWindow = "let slot_here = place;";

/** Returns the effects of a kernel that evaluates addresses only. */
export function addressEffects(
  marked: Pick<Effects, "bailOut" | "endLoop"> & { load(id: string): string; store(id: string): string },
): Effects {
  return {
    load(array) {
      if (array.role === "read") return `  return peek_${wgslName(array.name)}(element);`;
      return array.role === "tracked" ? `${marked.load(identify(array))}\n  return 0u;` : "  return 0u;";
    },
    store: (array) => (array.role === "tracked" ? marked.store(identify(array)) : ""),
    loadCarried: (_, slot) => `${marked.load(`${slot}u`)}\n  return 0u;`,
    storeCarried: (_, slot) => marked.store(`${slot}u`),
    bailOut: marked.bailOut,
    endLoop: marked.endLoop,
    misspeculate: "",
  };
}

/**
 * Makes a kernel that evaluates the addresses of iterations. `where` sets `slot_here`, the
 * iteration of the window that an invocation evaluates. `atomics` are the words of `control` that
 * are atomic.
 */
export function addressKernel(
  loop: Loop,
  name: string,
  parts: {
    atomics: readonly AtomicWord[];
    reports: string;
    resources: readonly EngineBuffer[];
    effects: Effects;
    variables: string;
    where: string;
    before: string;
    /** The code before each evaluation, if there are several. */
    evaluations?: readonly string[];
    after: string;
  },
): LoopKernel {
  const evaluate = (before: string) => `${before}
  fuel = params.fuel;
  bailed_out = false;
  iterate(${indexAt(loop, "(control.base + slot)")});`;
  return assembleKernel({
    name,
    loop,
    parameters: engineParameters(loop),
    declarations: [declareControl(loop.carried.length, parts.atomics), markFunctions],
    resources: parts.resources,
    functions: [
      `var<private> slot: u32;\n${parts.variables}`,
      parts.reports,
      emitBody(loop, parts.effects),
      `@compute @workgroup_size(${workgroupSize})
fn ${name}(${placeInGrid}) {
  let place = ${numberInGrid};
  if (place >= control.slots) { return; }
  ${parts.where}
  slot = slot_here;
  ${parts.before}
  ${(parts.evaluations ?? [""]).map(evaluate).join("\n  ")}
  ${parts.after}
}`,
    ],
  });
}
