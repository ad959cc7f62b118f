import type { Loop, LoopArray } from "../tree/ir.ts";
import { type Effects, emitBody } from "./code/body.ts";
import { assembleKernel, type Kernel, numberInGrid, placeInGrid, workgroupSize } from "./code/kernel.ts";
import { wgslName } from "./code/names.ts";
import { declareControl } from "./control.ts";
import { contribute, contributions } from "./execute.ts";
import {
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
 * The kernel for loops whose iterations depend on each other often, at elements that nobody knows before: `advance` executes the
 * iterations of a window again and again, each on what the earlier ones stored the last time, until they store the same as then.
 *
 * What an iteration stored in the round before is a version of these elements, of which all later iterations of the window see the last
 * one before them instead of what is in the arrays: the marks of an element name its first writers, and their logs have the values. So what
 * an iteration sees is right when all before it stored the last time what they store now, and the iterations up to the first that changes,
 * this one included, are right. They are committed while the others are executed the next time, which see their versions and not the arrays
 * that change meanwhile.
 *
 * An element has `params.versions` of them: where it has one more writer, nothing from that one on is committed, and nothing behind it is sure in
 * the round after, which does not see its version. As many rounds are needed as the longest chain of dependences in a window has
 * links, few where a loop would have to be executed up to the first dependence hundreds of times.
 *
 * Words of the log, twice, for this round and the one before: how many stores each iteration made; the places that it stored to; the bits.
 *
 * Source: multi-version memory and execution until nothing changes: Gelashvili et al., "Block-STM: scaling blockchain execution by turning
 * ordering curse to a performance blessing", 2023.
 */
export function multiVersionKernels(loop: Loop): Record<"advance", Kernel> {
  return { advance: advanceKernel(loop) };
}

const layout = `
/** Where the log of a round begins, of which only the parity of the epoch matters. */
fn log_of(epoch: u32) -> u32 { return (epoch & 1u) * params.capacity * (1u + 2u * params.most_stores); }
fn log_store(log: u32, slot: u32, n: u32) -> u32 { return log + (1u + n) * params.capacity + slot; }
fn log_value(log: u32, slot: u32, n: u32) -> u32 { return log_store(log, slot, n) + params.most_stores * params.capacity; }
/** The mark of one of the first writers of a place, the first one being 0. */
fn mark_at(epoch: u32, writer: u32, place: u32) -> u32 {
  return ((epoch & 1u) * params.versions + writer) * params.marked + place;
}

/** Which of its stores that a log has was to this place, or NONE. */
fn store_to(place: u32, log: u32, slot: u32, stores: u32) -> u32 {
  for (var n = 0u; n < stores; n += 1u) {
    if (log_words[log_store(log, slot, n)] == place) { return n; }
  }
  return NONE;
}`.trim();

const noting = `
var<private> slot: u32;
/** The same iteration in the window of the round before. */
var<private> slot_before: u32;
var<private> log_now: u32;
var<private> log_before: u32;
var<private> stores: u32;

/** The last of the first writers of a place in the round before that comes before an iteration, counted as then; NONE where there is none. */
fn writer_before(place: u32, later: u32) -> u32 {
  var last = NONE;
  for (var n = 0u; n < params.versions; n += 1u) {
    let writer = slot_of(atomicLoad(&marks[mark_at(control.executing_epoch, n, place)]), control.executing_epoch);
    if (writer >= later) { break; }
    last = writer;
  }
  return last;
}

/** What it stored there. */
fn version(writer: u32, place: u32) -> u32 {
  let n = store_to(place, log_before, writer, log_words[log_before + writer]);
  return log_words[log_value(log_before, writer, n)];
}

/** Each mark keeps the first writer that comes by, and the other one goes on to the next. */
fn mark_writer(place: u32) {
  var mark = mark_of(control.epoch, slot);
  for (var n = 0u; n < params.versions; n += 1u) {
    let before = atomicMax(&marks[mark_at(control.epoch, n, place)], mark);
    if (slot_of(before, control.epoch) == NONE) { return; }
    mark = min(mark, before);
  }
  cut_at(slot_of(mark, control.epoch));
}

fn note_store(place: u32, bits: u32) {
  var own = store_to(place, log_now, slot, stores);
  if (own == NONE) {
    if (stores == params.most_stores) { escape(ESCAPE_OVERFLOW); return; }
    own = stores;
    stores += 1u;
    log_words[log_store(log_now, slot, own)] = place;
    if (place < params.marked) { mark_writer(place); }
  }
  log_words[log_value(log_now, slot, own)] = bits;
}

/** Whether it stored the same in the round before, in which an iteration that was not executed stored nothing. */
fn stored_the_same() -> bool {
  let is_new = slot >= control.seen;
  if (is_new) { return stores == 0u; }
  if (log_words[log_before + slot_before] != stores) { return false; }
  for (var n = 0u; n < stores; n += 1u) {
    if (log_words[log_store(log_before, slot_before, n)] != log_words[log_store(log_now, slot, n)]) { return false; }
    if (log_words[log_value(log_before, slot_before, n)] != log_words[log_value(log_now, slot, n)]) { return false; }
  }
  return true;
}

/** Stores what an iteration of the round before stored, and no later one that is committed now. */
fn commit(committed: u32) {
  let log = log_of(control.executing_epoch);
  let stored = log_words[log + committed];
  for (var n = 0u; n < stored; n += 1u) {
    let place = log_words[log_store(log, committed, n)];
    if (place < params.marked) {
      if (writer_before(place, control.executing) != committed) { continue; }
    }
    poke_place(place, log_words[log_value(log, committed, n)]);
  }
}`.trim();

const changedAt = `
fn changed_at(slot: u32) {
  if (slot < atomicLoad(&control.changed)) { atomicMin(&control.changed, slot); }
}`.trim();

function advanceKernel(loop: Loop): Kernel {
  const load = (place: string, isTracked: boolean, value: string) => `  let place = ${place};
  let own = store_to(place, log_now, slot, stores);
  if (own != NONE) { return log_words[log_value(log_now, slot, own)]; }
${isTracked ? "  let writer = writer_before(place, slot_before);\n  if (writer != NONE) { return version(writer, place); }\n" : ""}  return ${value};`;
  const peek = ({ name }: LoopArray) => `peek_${wgslName(name)}(element)`;
  const effects: Effects = {
    load: (array) =>
      array.role === "read"
        ? `  return ${peek(array)};`
        : load(identify(array), array.role === "tracked", peek(array)),
    store: (array) => `  note_store(${identify(array)}, bits);`,
    loadCarried: (_, carried) => load(`${carried}u`, true, `control.carried[${carried}]`),
    storeCarried: (_, carried) => `  if (!escaped) { note_store(${carried}u, bits); }`,
    ...reports,
    // Whatever follows from a branch shows in what is stored.
    misspeculate: "",
  };
  return assembleKernel({
    name: "advance",
    loop,
    parameters: engineParameters(loop),
    declarations: [declareControl(loop.carried.length, [...reportedWords, "changed"]), markFunctions],
    resources: [
      { name: "control", access: "write", type: "Control" },
      { name: "marks", access: "write", type: "array<atomic<u32>>" },
      { name: "log_words", access: "write", type: "array<u32>" },
      ...contributions(loop),
    ],
    functions: [
      layout,
      noting,
      reportFunctions,
      changedAt,
      pokePlace(loop),
      emitBody(loop, effects),
      `@compute @workgroup_size(${workgroupSize})
fn advance(${placeInGrid}) {
  slot = ${numberInGrid};
  if (slot < control.executing) { commit(slot); }
  if (slot >= control.slots) { return; }
  slot_before = slot + control.executing;
  log_now = log_of(control.epoch);
  log_before = log_of(control.executing_epoch);
  fuel = params.fuel;
  start_reductions();
  let iteration = control.base + slot;
  iterate(${indexAt(loop, "iteration")});
  log_words[log_now + slot] = stores;
  if (!stored_the_same()) { changed_at(slot); }
  ${contribute(loop)}
}`,
    ],
  });
}
