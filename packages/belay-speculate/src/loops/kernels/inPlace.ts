import { addressLoop } from "../analysis/addressLoop.ts";
import type { Loop } from "../tree/ir.ts";
import { addressEffects, addressKernel, control, inWindow } from "./addressKernel.ts";
import { emitBody } from "./code/body.ts";
import { assembleKernel, type Kernel, numberInGrid, placeInGrid, workgroupSize } from "./code/kernel.ts";
import { declareControl } from "./control.ts";
import { executeKernels, lists } from "./execute.ts";
import {
  cutAt,
  engineParameters,
  indexAt,
  limitFunction,
  markFunctions,
  reportConflict,
  reportedWords,
  reportFunctions,
  reports,
} from "./marks.ts";
import { valuePrediction } from "./valuePrediction.ts";

/**
 * The kernels of loops whose addresses may be evaluated before their values (`addressLoop.ts`): iterations announce what they may
 * access, those that cannot meet are executed in place, and nothing is copied.
 *
 * - `mark`: each iteration of the window marks what it stores, finds out whether it is one for the CPU, or ends the loop.
 * - `check`: finds the first iteration that depends on an earlier one of the window, in any way. Those before it are executed.
 * - `execute`: executes iterations, reading and writing the arrays themselves (`execute.ts`).
 *
 * Carried variables that addresses follow from are predicted (`valuePrediction.ts`); others are elements like those of arrays.
 *
 * Where there are dependences, iterations are executed past them, by reservation: `markAll` also marks what is loaded, and
 * `reserve` divides the iterations into those that are first at everything that they touch with a store, which are executed, and those that wait.
 *
 * Evaluating addresses needs no loop of its own: in all kernels but `execute` a load of something that the loop writes gives 0, stores
 * only mark, and the driver's compiler drops what computes values.
 *
 * Source: reservations: Blelloch et al., "Internally deterministic parallel algorithms can be fast", 2012.
 */
export function inPlaceKernels(
  loop: Loop,
): Record<"mark" | "check" | "markAll" | "reserve" | keyof ReturnType<typeof executeKernels>, Kernel> {
  const { loop: addresses, isPredicted } = addressLoop(loop) ?? { loop, isPredicted: false };
  return {
    mark: markKernel(addresses, "mark", isPredicted),
    check: checkKernel(addresses, isPredicted),
    markAll: markKernel(addresses, "markAll", false),
    reserve: reserveKernel(addresses),
    ...executeKernels(loop, isPredicted),
  };
}

const inList = `var slot_here = control.fresh + place - control.listed;
  if (place < control.listed) { slot_here = lists[control.list * params.capacity + place]; }`;

function markKernel(loop: Loop, name: "mark" | "markAll", isPredicted: boolean): Kernel {
  const all = name === "markAll";
  const effects = addressEffects({
    load: (id) => (all ? `  atomicMax(&marks[params.marked + ${id}], own_mark);` : ""),
    store: (id) =>
      all
        ? `  atomicMax(&marks[${id}], own_mark);`
        : `  let before = atomicMax(&marks[${id}], own_mark);
  let other = slot_of(before, control.epoch);
  if (before != own_mark && other != NONE) {
    report_conflict(CONFLICT_ORDER);
    cut_at(max(slot, other));
  }`,
    ...reports,
  });
  const predicted = isPredicted
    ? valuePrediction(loop, "carried", () => "  report_conflict(CONFLICT_FLOW);\n  cut_at(slot + 1u);")
    : null;
  return addressKernel(loop, name, {
    atomics: reportedWords,
    reports: reportFunctions,
    resources: [
      control,
      { name: "marks", access: "write", type: "array<atomic<u32>>" },
      ...(all ? [lists("read")] : []),
    ],
    effects: { ...effects, ...predicted?.effects },
    variables: `var<private> own_mark: u32;${predicted ? `\n${predicted.declaration}` : ""}`,
    where: all ? inList : inWindow,
    before: `own_mark = mark_of(control.epoch, slot);${predicted ? `\n  ${predicted.start}` : ""}`,
    after: "",
  });
}

function checkKernel(loop: Loop, isPredicted: boolean): Kernel {
  const effects = addressEffects({
    load: (id) => `  let first = slot_of(marks[${id}], control.epoch);
  if (first != NONE && first != slot) {
    found |= select(CONFLICT_ORDER, CONFLICT_FLOW, first < slot);
    cut_at(max(slot, first));
  }`,
    store: () => "",
    escape: "",
    endLoop: "",
  });
  const predicted = isPredicted ? valuePrediction(loop, "carried", () => "") : null;
  return addressKernel(loop, "check", {
    atomics: ["conflicts", "cut"],
    reports: `${reportConflict}\n\n${cutAt}`,
    resources: [control, { name: "marks", access: "read", type: "array<u32>" }],
    effects: { ...effects, ...predicted?.effects },
    variables: `/** Kinds of conflict that this iteration takes part in. */\nvar<private> found: u32;${predicted ? `\n${predicted.declaration}` : ""}`,
    where: inWindow,
    // What others find meanwhile only leaves fewer iterations to look at.
    before: `if (slot >= atomicLoad(&control.cut) || (control.end != NONE && slot > control.end)) { return; }${predicted ? `\n  ${predicted.start}` : ""}`,
    after: "report_conflict(found);",
  });
}

function reserveKernel(loop: Loop): Kernel {
  const effects = addressEffects({
    load: (id) => `  if (slot_of(marks[${id}], control.epoch) < slot) { blocked = true; }`,
    store: (
      id,
    ) => `  let first = min(slot_of(marks[${id}], control.epoch), slot_of(marks[params.marked + ${id}], control.epoch));
  if (first < slot) { blocked = true; }`,
    escape: "",
    endLoop: "",
  });
  return assembleKernel({
    name: "reserve",
    loop,
    parameters: engineParameters(loop),
    declarations: [declareControl(loop.carried.length, ["held", "waiting"]), markFunctions],
    resources: [control, { name: "marks", access: "read", type: "array<u32>" }, lists("write")],
    functions: [
      `var<private> slot: u32;
/** An earlier iteration that is still waiting must come first. */
var<private> blocked: bool;
/** How many iterations of this workgroup hold their elements, and wait; then where they go in the lists. */
var<workgroup> counts: array<atomic<u32>, 2>;
var<workgroup> starts: array<u32, 2>;`,
      limitFunction,
      emitBody(loop, effects),
      `@compute @workgroup_size(${workgroupSize})
fn reserve(${placeInGrid}) {
  let place = ${numberInGrid};
  var takes_part = place < control.slots;
  if (takes_part) {
    ${inList.replaceAll("\n", "\n  ")}
    slot = slot_here;
    takes_part = slot < limit();
  }
  if (takes_part) {
    fuel = params.fuel;
    iterate(${indexAt(loop, "(control.base + slot)")});
  }
  let waits = select(0u, 1u, blocked);
  var offset = 0u;
  if (takes_part) { offset = atomicAdd(&counts[waits], 1u); }
  workgroupBarrier();
  if (local == 0u) {
    // Most workgroups of a round have nothing to do, and no reason to wait for each other.
    let held = atomicLoad(&counts[0]);
    let waiting = atomicLoad(&counts[1]);
    if (held > 0u) { starts[0] = atomicAdd(&control.held, held); }
    if (waiting > 0u) { starts[1] = atomicAdd(&control.waiting, waiting); }
  }
  workgroupBarrier();
  if (takes_part) {
    let list = select(2u, 1u - control.list, blocked);
    lists[list * params.capacity + starts[waits] + offset] = slot;
  }
}`,
    ],
  });
}
