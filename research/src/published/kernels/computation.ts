import type { Effects } from "belay-speculate/internal/loops/kernels/code/body";
import { numberInGrid, placeInGrid, workgroupSize } from "belay-speculate/internal/loops/kernels/code/kernel";
import { wgslName } from "belay-speculate/internal/loops/kernels/code/names";
import { contribute as contributeAt } from "belay-speculate/internal/loops/kernels/execute";
import type { Loop } from "belay-speculate/internal/loops/tree/ir";
import { stateWords } from "./layout.ts";

/**
 * The most iterations that a branch marks one by one. A branch that names more ends the round after
 * it instead. Marking too much is never wrong.
 */
export const mostNamed = 64;

const logged = (key: string, value: string) => `  let key = ${key};
  let own = own_store(key);
  if (own != NONE) { return log_words[log_value(own)]; }
  record_load(key);
  return ${value};`;

/**
 * The effects of an iteration that reads the values from before the round, and keeps its writes to
 * itself.
 */
export const computing: Effects = {
  load: ({ name, role }) =>
    role === "read"
      ? `  return peek_${wgslName(name)}(element);`
      : logged(`params.key_${wgslName(name)} + element`, `peek_${wgslName(name)}(element)`),
  store: ({ name }) => `  record_store(params.key_${wgslName(name)} + element, bits);`,
  loadCarried: (_, slot) =>
    logged(`params.key_carried + ${slot}u`, `atomicLoad(&state[${stateWords.length + slot}u])`),
  storeCarried: (_, slot) => `  record_store(params.key_carried + ${slot}u, bits);`,
  bailOut: "  flags |= LOG_BAILED_OUT;",
  endLoop: `  flags |= LOG_ENDS;
  atomicMin(&state[STATE_STOP], rank + 1u);`,
  misspeculate: `  if (farthest < nearest) { return; }
  if (farthest >= 0 && u32(farthest) - u32(max(nearest, 0)) >= MOST_NAMED) {
    atomicMin(&state[STATE_STOP], rank + u32(max(nearest, 1)));
    atomicAdd(&state[STATE_BREAKS], 1u);
  } else {
    for (var distance = max(nearest, -i32(MOST_NAMED)); distance <= farthest; distance++) {
      let named = i32(rank) + distance;
      if (named >= 0 && named < i32(params.size)) { mark(u32(named)); }
    }
  }`,
};

/** Returns the computation phase, and the functions that its effects call. */
export function compute(loop: Loop): string {
  return `
const MOST_NAMED = ${mostNamed}u;
var<private> rank: u32;
var<private> flags: u32;
var<private> loads: u32;
var<private> stores: u32;

/** The slot in which this iteration has written the element, or NONE. */
fn own_store(key: u32) -> u32 {
  for (var n = 0u; n < stores; n++) {
    if (log_words[log_store(rank, n)] == key) { return log_store(rank, n); }
  }
  return NONE;
}

fn record_load(key: u32) {
  if (key >= params.tracked_keys) { return; }
  if (loads == params.most_loads) { bail_out(BAIL_OUT_OVERFLOW); return; }
  log_words[log_load(rank, loads)] = key;
  loads += 1u;
}

fn record_store(key: u32, bits: u32) {
  var slot = own_store(key);
  if (slot == NONE) {
    if (stores == params.most_stores) { bail_out(BAIL_OUT_OVERFLOW); return; }
    slot = log_store(rank, stores);
    stores += 1u;
    log_words[slot] = key;
  }
  log_words[log_value(slot)] = bits;
}

@compute @workgroup_size(${workgroupSize}) fn published_compute(${placeInGrid}) {
  rank = ${numberInGrid};
  if (rank >= params.size) { return; }
  fuel = params.fuel;
  start_reductions();
  iterate(params.first + ${loop.index.type}(params.base + rank) * ${loop.index.type}(params.step));
  log_words[log_flags(rank)] = flags;
  log_words[log_loads(rank)] = loads;
  log_words[log_stores(rank)] = stores;
${contribute(loop)}
  stamp_accesses(rank, loads, stores);
}`;
}

/**
 * Returns code that stores the iteration's part of each reduction. An iteration that runs again
 * stores another one.
 */
export const contribute = (loop: Loop): string => `  ${contributeAt(loop, "params.base + rank")}`;
