import type { Loop, LoopArray } from "../tree/ir.ts";
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
import { declareControl } from "./control.ts";
import { contribute, contributions } from "./execute.ts";
import {
  cutAt,
  engineParameters,
  identify,
  indexAt,
  markFunctions,
  pokePlace,
  reportedWords,
  reportFunctions,
  reports,
} from "./marks.ts";

/**
 * The kernels for any loop. Each iteration of the window reads the memory from before the window,
 * or what it stored itself, and keeps its stores in a log.
 * - `compute`: executes iterations, logs their loads and stores, and marks what they store.
 * - `checkLog`: finds iterations that loaded what an earlier one stores. They misspeculated, and no
 *   iteration from the first of them on is committed.
 * - `order`: finds the last committed iteration among several that store to one element.
 * - `commit`: stores the logged values.
 * A later iteration may store to what an earlier one loads or stores. The first iteration of a
 * window never misspeculates, so each round commits at least one. An iteration that ran on wrong
 * data is executed again, whatever it did.
 */
export function loggedKernels(loop: Loop): KernelMakers<"compute" | "checkLog" | "order" | "commit"> {
  return {
    compute: () => computeKernel(loop),
    checkLog: () =>
      eachOf(loop, "checkLog", {
        marks: "array<u32>",
        before: "if (slot >= control.slots) { return; }",
        body: `  for (var n = 0u; n < loads_of(counts); n += 1u) {
    if (slot_of(marks[log_words[log_load(slot, n)]], control.epoch) < slot) { cut_at(slot); return; }
  }`,
      }),
    order: () =>
      eachOf(loop, "order", {
        marks: "array<atomic<u32>>",
        before: "if (control.ordered == 0u || slot >= control.executing) { return; }",
        body: `  for (var n = 0u; n < stores_of(counts); n += 1u) {
    let place = log_words[log_store(slot, n)];
    if (place < params.marked) { atomicMax(&marks[place], order_mark(slot)); }
  }`,
      }),
    commit: () =>
      eachOf(loop, "commit", {
        marks: "array<u32>",
        before: "if (slot >= control.executing) { return; }",
        body: `  for (var n = 0u; n < stores_of(counts); n += 1u) {
    let place = log_words[log_store(slot, n)];
    if (control.ordered != 0u && place < params.marked) {
      if (marks[place] != order_mark(slot)) { continue; }
    }
    poke_place(place, log_words[log_value(slot, n)]);
  }`,
        functions: [pokePlace(loop)],
      }),
  };
}

function computeKernel(loop: Loop): LoopKernel {
  const loadAt = (place: string, value: string, isTracked: boolean) => `  let place = ${place};
  let own = own_store(place);
  if (own != NONE) { return log_words[log_value(slot, own)]; }
${isTracked ? "  record_load(place);\n" : ""}  return ${value};`;
  const effects: Effects = {
    load: (array) =>
      array.role === "read"
        ? `  return ${peek(array)};`
        : loadAt(identify(array), peek(array), array.role === "tracked"),
    store: (array) => `  record_store(${identify(array)}, bits);`,
    // A variable is loaded often and needs one log entry.
    loadCarried: (_, carried) => `  let own = own_store(${carried}u);
  if (own != NONE) { return log_words[log_value(slot, own)]; }
  if ((carried_loads[${carried >> 5}] & ${(1 << (carried & 31)) >>> 0}u) == 0u) {
    carried_loads[${carried >> 5}] |= ${(1 << (carried & 31)) >>> 0}u;
    record_load(${carried}u);
  }
  return control.carried[${carried}];`,
    storeCarried: (_, carried) => `  if (!bailed_out) { record_store(${carried}u, bits); }`,
    ...reports,
    // Iterations that the branch names do not misspeculate if they are the iteration itself or
    // precede it.
    misspeculate: `  let first = u32(max(nearest, 1));
  if (farthest >= i32(first) && slot + first < control.window) { cut_at(slot + first); }`,
  };
  return assembleKernel({
    name: "compute",
    loop,
    parameters: engineParameters(loop),
    declarations: [declareControl(loop.carried.length, reportedWords), markFunctions],
    resources: [
      { name: "control", access: "write", type: "Control" },
      { name: "marks", access: "write", type: "array<atomic<u32>>" },
      logWords,
      ...contributions(loop),
    ],
    functions: [
      logFunctions,
      recordFunctions,
      ...(loop.carried.length > 0
        ? [
            `/** The carried variables whose loads are logged. */\nvar<private> carried_loads: array<u32, ${Math.ceil(loop.carried.length / 32)}>;`,
          ]
        : []),
      reportFunctions,
      emitBody(loop, effects),
      `@compute @workgroup_size(${workgroupSize})
fn compute(${placeInGrid}) {
  slot = ${numberInGrid};
  if (slot >= control.slots) { return; }
  own_mark = mark_of(control.epoch, slot);
  fuel = params.fuel;
  start_reductions();
  let iteration = control.base + slot;
  iterate(${indexAt(loop, "iteration")});
  log_words[slot] = loads | (stores << 16u);
  ${contribute(loop)}
}`,
    ],
  });
}

/** Makes a kernel that goes through what the iterations logged. */
function eachOf(
  loop: Loop,
  name: string,
  parts: { marks: string; before: string; body: string; functions?: readonly string[] },
): LoopKernel {
  const access = parts.marks === "array<u32>" ? "read" : "write";
  const reporting = name === "checkLog";
  return assembleKernel({
    name,
    loop,
    parameters: engineParameters(loop),
    declarations: [declareControl(loop.carried.length, reporting ? ["cut"] : []), markFunctions],
    resources: [
      { name: "control", access: reporting || loop.carried.length > 0 ? "write" : "read", type: "Control" },
      { name: "marks", access, type: parts.marks },
      { ...logWords, access: "read" },
    ],
    functions: [
      logFunctions,
      ...(reporting ? [cutAt] : []),
      ...(parts.functions ?? []),
      `@compute @workgroup_size(${workgroupSize})
fn ${name}(${placeInGrid}) {
  let slot = ${numberInGrid};
  ${parts.before}
  let counts = log_words[slot];
${parts.body}
}`,
    ],
  });
}

const peek = ({ name }: LoopArray) => `peek_${wgslName(name)}(element)`;

/**
 * Functions that address the words of the log. It has rows of one word per iteration of the window:
 * the numbers of loads and stores; the places loaded; the places stored to; the bits stored. Places
 * are numbered as by `offsetsOf`.
 */
const logFunctions = `
fn loads_of(counts: u32) -> u32 { return counts & 0xffffu; }
fn stores_of(counts: u32) -> u32 { return counts >> 16u; }
fn log_load(slot: u32, n: u32) -> u32 { return (1u + n) * params.capacity + slot; }
fn log_store(slot: u32, n: u32) -> u32 { return (1u + params.most_loads + n) * params.capacity + slot; }
fn log_value(slot: u32, n: u32) -> u32 { return log_store(slot, n) + params.most_stores * params.capacity; }

/**
 * Returns the mark of a last store. Of two marks of one epoch, the larger belongs to the later
 * iteration.
 */
fn order_mark(slot: u32) -> u32 { return ((control.executing_epoch + 1u) << SLOT_BITS) | slot; }`.trim();

/** The log, for kernels that write it. */
const logWords: EngineBuffer = { name: "log_words", access: "write", type: "array<u32>" };

/** Functions that record an iteration's loads and stores. */
const recordFunctions = `
var<private> slot: u32;
var<private> own_mark: u32;
var<private> loads: u32;
var<private> stores: u32;

/** Returns the number of the iteration's store to this place, or NONE. */
fn own_store(place: u32) -> u32 {
  for (var n = 0u; n < stores; n += 1u) {
    if (log_words[log_store(slot, n)] == place) { return n; }
  }
  return NONE;
}

fn record_load(place: u32) {
  if (loads == params.most_loads) { bail_out(BAIL_OUT_OVERFLOW); return; }
  log_words[log_load(slot, loads)] = place;
  loads += 1u;
}

fn record_store(place: u32, bits: u32) {
  var own = own_store(place);
  if (own == NONE) {
    if (stores == params.most_stores) { bail_out(BAIL_OUT_OVERFLOW); return; }
    own = stores;
    stores += 1u;
    log_words[log_store(slot, own)] = place;
    if (place < params.marked) {
      let before = atomicMax(&marks[place], own_mark);
      if (before != own_mark && slot_of(before, control.epoch) != NONE) { report_conflict(CONFLICT_ORDER); }
    }
  }
  log_words[log_value(slot, own)] = bits;
}`.trim();
