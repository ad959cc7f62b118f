import { numberInGrid, placeInGrid, workgroupSize } from "belay-speculate/internal/loops/kernels/code/kernel";
import { stateWords } from "./layout.ts";

/** The functions that read and write the state of a round; see `layout.ts`. */
export const bookkeeping = `
const NONE = 0xffffffffu;
/** In place of a last reader: its unmarked readers have been found, and marked. */
const WRONGED = 0xffffffffu;
const LOG_ENDS = 1u;
const LOG_BAILED_OUT = 2u;

${stateWords.map((word, place) => `const STATE_${word.toUpperCase()} = ${place}u;`).join("\n")}

fn log_flags(rank: u32) -> u32 { return rank; }
fn log_loads(rank: u32) -> u32 { return params.size + rank; }
fn log_stores(rank: u32) -> u32 { return 2u * params.size + rank; }
fn log_load(rank: u32, n: u32) -> u32 { return (3u + n) * params.size + rank; }
fn log_store(rank: u32, n: u32) -> u32 { return (3u + params.most_loads + n) * params.size + rank; }
/** The value's place, from the place of its key: the slot of a store. */
fn log_value(slot: u32) -> u32 { return slot + params.most_stores * params.size; }
fn log_undo(n: u32) -> u32 { return (3u + params.most_loads + 2u * params.most_stores) * params.size + 2u * n; }
fn rank_of(slot: u32) -> u32 { return slot % params.size; }

fn first_of(key: u32) -> u32 { return key; }
fn last_of(key: u32) -> u32 { return params.tracked_keys + key; }
fn written_of(key: u32) -> u32 { return 2u * params.tracked_keys + key / 32u; }
fn marks_of(rank: u32) -> u32 {
  return 2u * params.tracked_keys + (params.tracked_keys + 31u) / 32u + rank / 32u;
}
fn marked_words_of(rank: u32) -> u32 { return marks_of(params.size + 31u) + rank / 1024u; }
fn bit_of(number: u32) -> u32 { return 1u << (number & 31u); }`;

/** The functions that mark ranks. */
export const marks = `
fn is_marked(rank: u32) -> bool { return (atomicLoad(&tables[marks_of(rank)]) & bit_of(rank)) != 0u; }

/** Returns true if the rank was unmarked before. */
fn mark(rank: u32) -> bool {
  if ((atomicOr(&tables[marks_of(rank)], bit_of(rank)) & bit_of(rank)) != 0u) { return false; }
  atomicOr(&tables[marked_words_of(rank)], bit_of(rank / 32u));
  atomicAdd(&state[STATE_MARKED], 1u);
  return true;
}`;

/**
 * The functions that record one iteration's accesses for the others, at the end of its computation.
 */
export const stampAccesses = `
fn stamp(rank: u32, key: u32) {
  if (key >= params.tracked_keys) { return; }
  atomicMax(&tables[first_of(key)], ~rank);
  atomicMax(&tables[last_of(key)], rank + 1u);
}

fn stamp_accesses(rank: u32, loads: u32, stores: u32) {
  for (var n = 0u; n < loads; n++) { stamp(rank, log_words[log_load(rank, n)]); }
  for (var n = 0u; n < stores; n++) {
    let key = log_words[log_store(rank, n)];
    stamp(rank, key);
    if (key < params.tracked_keys) { atomicOr(&tables[written_of(key)], bit_of(key)); }
  }
}`;

/** The kernel that marks all iterations that share an element, if one of them writes it. */
export const check = `
fn is_contended(key: u32) -> bool {
  return key < params.tracked_keys && (atomicLoad(&tables[written_of(key)]) & bit_of(key)) != 0u
    && ~atomicLoad(&tables[first_of(key)]) + 1u != atomicLoad(&tables[last_of(key)]);
}

@compute @workgroup_size(${workgroupSize}) fn published_check(${placeInGrid}) {
  let rank = ${numberInGrid};
  if (rank >= params.size) { return; }
  var contended = (log_words[log_flags(rank)] & LOG_BAILED_OUT) != 0u;
  let loads = log_words[log_loads(rank)];
  for (var n = 0u; n < loads && !contended; n++) { contended = is_contended(log_words[log_load(rank, n)]); }
  let stores = log_words[log_stores(rank)];
  for (var n = 0u; n < stores && !contended; n++) { contended = is_contended(log_words[log_store(rank, n)]); }
  if (contended) { mark(rank); }
}`;

/**
 * The kernel that forgets all accesses of the round, before the recovery and after the round. It
 * goes through the accesses again.
 */
export const forget = `
fn forget_key(key: u32) {
  if (key >= params.tracked_keys) { return; }
  atomicStore(&tables[first_of(key)], 0u);
  atomicStore(&tables[last_of(key)], 0u);
  atomicStore(&tables[written_of(key)], 0u);
}

@compute @workgroup_size(${workgroupSize}) fn published_forget(${placeInGrid}) {
  let rank = ${numberInGrid};
  if (rank >= params.size) { return; }
  if (atomicLoad(&state[STATE_RECOVERING]) != atomicLoad(&state[STATE_RECOVERED])) { return; }
  let loads = log_words[log_loads(rank)];
  for (var n = 0u; n < loads; n++) { forget_key(log_words[log_load(rank, n)]); }
  let stores = log_words[log_stores(rank)];
  for (var n = 0u; n < stores; n++) { forget_key(log_words[log_store(rank, n)]); }
}`;

/**
 * The kernel that records the accesses of the unmarked iterations alone, for those that run again.
 */
export const settle = `
@compute @workgroup_size(${workgroupSize}) fn published_settle(${placeInGrid}) {
  let rank = ${numberInGrid};
  if (rank >= params.size || atomicLoad(&state[STATE_MARKED]) == 0u) { return; }
  if (is_marked(rank)) { return; }
  let loads = log_words[log_loads(rank)];
  for (var n = 0u; n < loads; n++) {
    atomicMax(&tables[last_of(log_words[log_load(rank, n)])], rank + 1u);
  }
  let stores = log_words[log_stores(rank)];
  for (var n = 0u; n < stores; n++) {
    let slot = log_store(rank, n);
    if (log_words[slot] < params.tracked_keys) { atomicStore(&tables[first_of(log_words[slot])], ~slot); }
  }
}`;

export const markLater = `
/** An iteration turns out wrong: to those that run again it has not run. */
fn mark_later(rank: u32) {
  if (!mark(rank)) { return; }
  let stores = log_words[log_stores(rank)];
  for (var n = 0u; n < stores; n++) {
    let key = log_words[log_store(rank, n)];
    if (key < params.tracked_keys) { atomicStore(&tables[first_of(key)], 0u); }
  }
}`;

/**
 * The kernel that marks unmarked iterations that read an element just written by an earlier one
 * that ran again.
 */
export const cascade = `
@compute @workgroup_size(${workgroupSize}) fn published_cascade(${placeInGrid}) {
  let rank = ${numberInGrid};
  if (rank >= params.size || atomicLoad(&state[STATE_WRONGED]) == 0u) { return; }
  if (rank < atomicLoad(&state[STATE_CURSOR]) || is_marked(rank)) { return; }
  let loads = log_words[log_loads(rank)];
  for (var n = 0u; n < loads; n++) {
    if (atomicLoad(&tables[last_of(log_words[log_load(rank, n)])]) == WRONGED) {
      mark_later(rank);
      return;
    }
  }
}`;

/**
 * The kernel in which the unmarked iterations before the stop write their logged values, once
 * nothing can wrong them any more.
 */
export const commit = `
@compute @workgroup_size(${workgroupSize}) fn published_commit(${placeInGrid}) {
  let rank = ${numberInGrid};
  if (rank >= min(atomicLoad(&state[STATE_STOP]), params.size)) { return; }
  if (atomicLoad(&state[STATE_RECOVERED]) == 0u || is_marked(rank)) { return; }
  let stores = log_words[log_stores(rank)];
  for (var n = 0u; n < stores; n++) {
    let slot = log_store(rank, n);
    poke_key(log_words[slot], log_words[log_value(slot)]);
  }
}`;
