import { addressLoop } from "../analysis/addressLoop.ts";
import type { Loop } from "../tree/ir.ts";
import { addressEffects, addressKernel, control, inWindow } from "./addressKernel.ts";
import { emitBody } from "./code/body.ts";
import {
  assembleKernel,
  type KernelMakers,
  type LoopKernel,
  numberInGrid,
  placeInGrid,
  workgroupSize,
} from "./code/kernel.ts";
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
 * The kernels of loops whose addresses can be evaluated before their values (`addressLoop.ts`).
 * Iterations announce the elements that they may access. Those that cannot conflict are executed in
 * place, and nothing is copied.
 * - `mark`: each iteration of the window marks its stores, and finds out whether it bails out or
 *   ends the loop.
 * - `check`: finds the first iteration that depends in any way on an earlier one of the window. The
 *   iterations before it are executed.
 * - `execute`: executes iterations, reading and writing the arrays themselves (`execute.ts`).
 * Carried variables that addresses follow from are predicted (`valuePrediction.ts`). Other carried
 * variables are treated like elements of arrays.
 * If there are dependences, iterations are executed past them, by reservation. `markAll` also marks
 * loads. `reserve` executes the iterations that are first at each element they access, if it is
 * stored to; the others wait.
 * The kernels do not need a separate loop to evaluate addresses. In all of them but `execute`, a
 * load of something that the loop writes gives 0 and a store only marks. The driver's compiler then
 * drops the computation of values.
 * Source: reservations: Blelloch et al., "Internally deterministic parallel algorithms can be
 * fast", 2012.
 */
export function inPlaceKernels(
  loop: Loop,
): KernelMakers<"mark" | "check" | "markAll" | "reserve" | keyof ReturnType<typeof executeKernels>> {
  const { loop: addresses, isPredicted } = addressLoop(loop) ?? { loop, isPredicted: false };
  return {
    mark: () => markKernel(addresses, "mark", isPredicted),
    check: () => checkKernel(addresses, isPredicted),
    markAll: () => markKernel(addresses, "markAll", false),
    reserve: () => reserveKernel(addresses),
    ...executeKernels(loop, isPredicted),
  };
}

const inList = `var slot_here = control.fresh + place - control.listed;
  if (place < control.listed) { slot_here = lists[control.list * params.capacity + place]; }`;

function markKernel(loop: Loop, name: "mark" | "markAll", isPredicted: boolean): LoopKernel {
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

function checkKernel(loop: Loop, isPredicted: boolean): LoopKernel {
  const effects = addressEffects({
    load: (id) => `  let first = slot_of(marks[${id}], control.epoch);
  if (first != NONE && first != slot) {
    found |= select(CONFLICT_ORDER, CONFLICT_FLOW, first < slot);
    cut_at(max(slot, first));
  }`,
    store: () => "",
    bailOut: "",
    endLoop: "",
  });
  const predicted = isPredicted ? valuePrediction(loop, "carried", () => "") : null;
  return addressKernel(loop, "check", {
    atomics: ["conflicts", "cut"],
    reports: `${reportConflict}\n\n${cutAt}`,
    resources: [control, { name: "marks", access: "read", type: "array<u32>" }],
    effects: { ...effects, ...predicted?.effects },
    variables: `/** The kinds of conflict in which this iteration takes part. */\nvar<private> found: u32;${predicted ? `\n${predicted.declaration}` : ""}`,
    where: inWindow,
    // Conflicts that other invocations find meanwhile only reduce the iterations to check.
    before: `if (slot >= atomicLoad(&control.cut) || (control.end != NONE && slot > control.end)) { return; }${predicted ? `\n  ${predicted.start}` : ""}`,
    after: "report_conflict(found);",
  });
}

function reserveKernel(loop: Loop): LoopKernel {
  const effects = addressEffects({
    load: (id) => `  if (slot_of(marks[${id}], control.epoch) < slot) { blocked = true; }`,
    store: (
      id,
    ) => `  let first = min(slot_of(marks[${id}], control.epoch), slot_of(marks[params.marked + ${id}], control.epoch));
  if (first < slot) { blocked = true; }`,
    bailOut: "",
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
/** True if an earlier iteration that still waits must come first. */
var<private> blocked: bool;
/**
 * The numbers of this workgroup's iterations that hold their elements and that wait; then their
 * starts in the lists.
 */
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
    // Most workgroups of a round have nothing to add, so they skip the contended atomics.
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
