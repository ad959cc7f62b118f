import type { Effects } from "belay-speculate/internal/loops/kernels/code/body";
import { wgslName } from "belay-speculate/internal/loops/kernels/code/names";
import type { Loop } from "belay-speculate/internal/loops/tree/ir";
import { contribute, mostNamed } from "./computation.ts";
import { stateWords } from "./layout.ts";

/**
 * The most stores of one iteration that recovery can undo, should only the CPU be able to execute
 * the iteration.
 */
export const mostUndone = 4096;

const load = (key: string, value: string) => `  let slot = earlier_store(${key});
  if (slot != NONE) { return log_words[log_value(slot)]; }
  return ${value};`;

const store = (key: string, value: string) => `  let key = ${key};
  let slot = earlier_store(key);
  if (undone == MOST_UNDONE) { bail_out(BAIL_OUT_OVERFLOW); return; }
  if (slot != NONE) {
    keep_for_undo(TAKEN_BY_SLOT | slot, log_words[log_value(slot)]);
    log_words[log_value(slot)] = bits;
  } else {
    keep_for_undo(key, ${value});
    poke_key(key, bits);
  }
  wrong_readers(key);`;

const carried = (slot: number) => `atomicLoad(&state[${stateWords.length + slot}u])`;

/**
 * The effects of a marked iteration that runs again, in its turn. An element with an unmarked
 * writer has two versions: the array holds the value before that writer, the log the value after
 * it.
 */
export const recovering: Effects = {
  load: ({ name, role }) =>
    role === "read"
      ? `  return peek_${wgslName(name)}(element);`
      : load(`params.key_${wgslName(name)} + element`, `peek_${wgslName(name)}(element)`),
  store: ({ name }) => store(`params.key_${wgslName(name)} + element`, `peek_${wgslName(name)}(element)`),
  loadCarried: (_, slot) => load(`params.key_carried + ${slot}u`, carried(slot)),
  storeCarried: (_, slot) => store(`params.key_carried + ${slot}u`, carried(slot)),
  bailOut: "",
  endLoop: `  atomicMin(&state[STATE_STOP], rank + 1u);
  ended = true;`,
  misspeculate: `  if (farthest < max(nearest, 1)) { return; }
  let first = u32(max(nearest, 1));
  if (u32(farthest) - first >= MOST_NAMED) {
    atomicMin(&state[STATE_STOP], rank + first);
    atomicAdd(&state[STATE_BREAKS], 1u);
  } else {
    for (var named = rank + first; named <= rank + u32(farthest) && named < params.size; named++) { mark_later(named); }
  }`,
};

/** Returns the recovery phase, by a single invocation, and the functions that its effects call. */
export function recover(loop: Loop): string {
  return `
const MOST_NAMED = ${mostNamed}u;
const MOST_UNDONE = ${mostUndone}u;
const TAKEN_BY_SLOT = 0x80000000u;
var<private> rank: u32;
var<private> undone: u32;
var<private> ended: bool;

/** Returns the unmarked iteration before this one that wrote the element, or NONE. */
fn earlier_store(key: u32) -> u32 {
  if (key >= params.tracked_keys) { return NONE; }
  let slot = ~atomicLoad(&tables[first_of(key)]);
  if (slot == NONE || rank_of(slot) > rank) { return NONE; }
  return slot;
}

/** Unmarked iterations after this one that read the element are wrong now. */
fn wrong_readers(key: u32) {
  if (key >= params.tracked_keys) { return; }
  let last = atomicLoad(&tables[last_of(key)]);
  if (last == WRONGED || last <= rank + 1u) { return; }
  atomicStore(&tables[last_of(key)], WRONGED);
  atomicStore(&state[STATE_WRONGED], 1u);
}

fn keep_for_undo(place: u32, bits: u32) {
  log_words[log_undo(undone)] = place;
  log_words[log_undo(undone) + 1u] = bits;
  undone += 1u;
}

fn undo_stores() {
  for (; undone > 0u; undone--) {
    let place = log_words[log_undo(undone - 1u)];
    let bits = log_words[log_undo(undone - 1u) + 1u];
    if ((place & TAKEN_BY_SLOT) != 0u) {
      log_words[log_value(place & ~TAKEN_BY_SLOT)] = bits;
    } else {
      poke_key(place, bits);
    }
  }
}

fn next_marked(cursor: u32) -> u32 {
  if (cursor >= params.size) { return NONE; }
  let rest = atomicLoad(&tables[marks_of(cursor)]) & (NONE << (cursor & 31u));
  if (rest != 0u) { return (cursor & ~31u) + firstTrailingBit(rest); }
  var word = cursor / 32u + 1u;
  while (word * 32u < params.size) {
    let words = atomicLoad(&tables[marked_words_of(word * 32u)]) & (NONE << (word & 31u));
    if (words != 0u) {
      let found = ((word & ~31u) + firstTrailingBit(words)) * 32u;
      return found + firstTrailingBit(atomicLoad(&tables[marks_of(found)]));
    }
    word = (word | 31u) + 1u;
  }
  return NONE;
}

/** No more iterations run again in this round: it ends at the stop. */
fn finish() {
  let stop = atomicLoad(&state[STATE_STOP]);
  if (stop > 0u) {
    if (!is_marked(stop - 1u) && (log_words[log_flags(stop - 1u)] & LOG_ENDS) != 0u) { atomicStore(&state[STATE_ENDED], 1u); }
  }
  atomicStore(&state[STATE_RECOVERED], 1u);
}

@compute @workgroup_size(1) fn published_recover() {
  if (atomicLoad(&state[STATE_RECOVERED]) != 0u) { return; }
  atomicStore(&state[STATE_RECOVERING], 1u);
  atomicStore(&state[STATE_WRONGED], 0u);
  while (atomicLoad(&state[STATE_WRONGED]) == 0u) {
    rank = next_marked(atomicLoad(&state[STATE_CURSOR]));
    var stop = atomicLoad(&state[STATE_STOP]);
    if (rank < stop && atomicLoad(&state[STATE_AGAIN]) == params.most_again) {
      // The rest is left to the next round, as one invocation is slow.
      stop = rank;
      atomicStore(&state[STATE_STOP], stop);
    }
    if (rank >= stop) {
      finish();
      return;
    }
    atomicAdd(&state[STATE_AGAIN], 1u);
    undone = 0u;
    ended = false;
    bailed_out = false;
    fuel = params.fuel;
    start_reductions();
    iterate(params.first + ${loop.index.type}(params.base + rank) * ${loop.index.type}(params.step));
    if (bailed_out) {
      undo_stores();
      atomicStore(&state[STATE_STOP], rank);
      atomicStore(&state[STATE_BAILED_OUT], rank + 1u);
      finish();
      return;
    }
${contribute(loop)}
    if (ended) { atomicStore(&state[STATE_ENDED], 1u); }
    atomicStore(&state[STATE_CURSOR], rank + 1u);
  }
}`;
}
