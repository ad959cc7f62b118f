import type { Resource } from "./kernel.ts";

/**
 * Functions of the words of the log, in rows of one word for each iteration of the window: how many loads and stores it made; the places
 * that it loaded, those that it stored to, and the bits that it stored. Places are those of `offsetsOf`.
 */
export const logFunctions = `
fn loads_of(counts: u32) -> u32 { return counts & 0xffffu; }
fn stores_of(counts: u32) -> u32 { return counts >> 16u; }
fn log_load(slot: u32, n: u32) -> u32 { return (1u + n) * params.capacity + slot; }
fn log_store(slot: u32, n: u32) -> u32 { return (1u + params.most_loads + n) * params.capacity + slot; }
fn log_value(slot: u32, n: u32) -> u32 { return log_store(slot, n) + params.most_stores * params.capacity; }

/** Marks the last store: of two marks of one epoch the larger is of the later iteration. */
fn order_mark(slot: u32) -> u32 { return ((control.executing_epoch + 1u) << SLOT_BITS) | slot; }`.trim();

/** The log, for kernels that write it. */
export const logWords: Resource = { name: "log_words", access: "write", type: "array<u32>" };

/** Functions that note what an iteration loads and stores. */
export const notingFunctions = `
var<private> slot: u32;
var<private> own_mark: u32;
var<private> loads: u32;
var<private> stores: u32;

/** Which of its stores was to this place, or NONE. */
fn own_store(place: u32) -> u32 {
  for (var n = 0u; n < stores; n += 1u) {
    if (log_words[log_store(slot, n)] == place) { return n; }
  }
  return NONE;
}

fn note_load(place: u32) {
  if (loads == params.most_loads) { escape(ESCAPE_OVERFLOW); return; }
  log_words[log_load(slot, loads)] = place;
  loads += 1u;
}

fn note_store(place: u32, bits: u32) {
  var own = own_store(place);
  if (own == NONE) {
    if (stores == params.most_stores) { escape(ESCAPE_OVERFLOW); return; }
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
