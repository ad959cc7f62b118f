import type { Loop, LoopArray } from "../tree/ir.ts";
import { type Effects, emitBody } from "./code/body.ts";
import {
  assembleKernel,
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
 * The kernel for loops whose iterations often depend on each other, at elements unknown in advance.
 * `advance` executes the iterations of a window in rounds, each iteration on the stores of earlier
 * ones in the previous round. It ends when all of them store the same as in the previous round.
 * The stores of an iteration in the previous round are versions of these elements. A later
 * iteration of the window sees the last version before it in place of the array's element. The
 * marks of an element name its first writers, and their logs have the values.
 * What an iteration sees is right if all earlier ones store now what they stored the last time. So
 * all iterations up to and including the first that changes are right. They are committed while the
 * others are executed the next time. Those see the versions, and not the arrays, which change
 * meanwhile.
 * Each element records at most `params.versions` writers per round. A further writer and all later
 * iterations are not committed. In the next round, iterations after that writer are not committed
 * either, because they did not see its version.
 * The number of rounds is the length of the longest chain of dependences in a window. It is small
 * where execution up to the first dependence would take hundreds of rounds.
 * The words of the log exist twice, for this round and the previous one: the number of stores of
 * each iteration; the places stored to; the bits.
 * Source: multi-version memory and execution until nothing changes: Gelashvili et al., "Block-STM:
 * scaling blockchain execution by turning ordering curse to a performance blessing", 2023.
 */
export function multiVersionKernels(loop: Loop): KernelMakers<"advance"> {
  return { advance: () => advanceKernel(loop) };
}

const layout = `
/** Returns the first word of a round's log. Rounds alternate between two logs. */
fn log_of(epoch: u32) -> u32 { return (epoch & 1u) * params.capacity * (1u + 2u * params.most_stores); }
fn log_store(log: u32, slot: u32, n: u32) -> u32 { return log + (1u + n) * params.capacity + slot; }
fn log_value(log: u32, slot: u32, n: u32) -> u32 { return log_store(log, slot, n) + params.most_stores * params.capacity; }
/** Returns the index of the mark for one of the first writers of a place, numbered from 0. */
fn mark_at(epoch: u32, writer: u32, place: u32) -> u32 {
  return ((epoch & 1u) * params.versions + writer) * params.marked + place;
}

/** Returns the number of a logged iteration's store to this place, or NONE. */
fn store_to(place: u32, log: u32, slot: u32, stores: u32) -> u32 {
  for (var n = 0u; n < stores; n += 1u) {
    if (log_words[log_store(log, slot, n)] == place) { return n; }
  }
  return NONE;
}`.trim();

const recording = `
var<private> slot: u32;
/** The number of the same iteration in the window of the previous round. */
var<private> slot_before: u32;
var<private> log_now: u32;
var<private> log_before: u32;
var<private> stores: u32;

/**
 * Returns the last recorded writer of a place in the previous round before the iteration \`later\`,
 * both numbered as in that round, or NONE.
 */
fn writer_before(place: u32, later: u32) -> u32 {
  var last = NONE;
  for (var n = 0u; n < params.versions; n += 1u) {
    let writer = slot_of(atomicLoad(&marks[mark_at(control.executing_epoch, n, place)]), control.executing_epoch);
    if (writer >= later) { break; }
    last = writer;
  }
  return last;
}

/** Returns the bits that a writer of the previous round stored to a place. */
fn version(writer: u32, place: u32) -> u32 {
  let n = store_to(place, log_before, writer, log_words[log_before + writer]);
  return log_words[log_value(log_before, writer, n)];
}

/**
 * Records a writer of a place. Each mark keeps the earlier of two iterations and passes the other
 * on to the next mark.
 */
fn mark_writer(place: u32) {
  var mark = mark_of(control.epoch, slot);
  for (var n = 0u; n < params.versions; n += 1u) {
    let before = atomicMax(&marks[mark_at(control.epoch, n, place)], mark);
    if (slot_of(before, control.epoch) == NONE) { return; }
    mark = min(mark, before);
  }
  cut_at(slot_of(mark, control.epoch));
}

fn record_store(place: u32, bits: u32) {
  var own = store_to(place, log_now, slot, stores);
  if (own == NONE) {
    if (stores == params.most_stores) { bail_out(BAIL_OUT_OVERFLOW); return; }
    own = stores;
    stores += 1u;
    log_words[log_store(log_now, slot, own)] = place;
    if (place < params.marked) { mark_writer(place); }
  }
  log_words[log_value(log_now, slot, own)] = bits;
}

/**
 * Returns true if the iteration stored the same in the previous round. An iteration that was not
 * executed then stored nothing.
 */
fn stored_the_same() -> bool {
  let is_new = slot >= control.overlap;
  if (is_new) { return stores == 0u; }
  if (log_words[log_before + slot_before] != stores) { return false; }
  for (var n = 0u; n < stores; n += 1u) {
    if (log_words[log_store(log_before, slot_before, n)] != log_words[log_store(log_now, slot, n)]) { return false; }
    if (log_words[log_value(log_before, slot_before, n)] != log_words[log_value(log_now, slot, n)]) { return false; }
  }
  return true;
}

/**
 * Commits the stores of an iteration of the previous round to which no later committed iteration
 * stores as well.
 */
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

function advanceKernel(loop: Loop): LoopKernel {
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
    store: (array) => `  record_store(${identify(array)}, bits);`,
    loadCarried: (_, carried) => load(`${carried}u`, true, `control.carried[${carried}]`),
    storeCarried: (_, carried) => `  if (!bailed_out) { record_store(${carried}u, bits); }`,
    ...reports,
    // A branch's consequences show in the stores.
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
      recording,
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
