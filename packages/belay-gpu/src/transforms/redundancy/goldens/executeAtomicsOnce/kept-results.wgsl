// --- input

struct Counters {
  sum: atomic<u32>,
  low: array<atomic<i32>, 4>,
}

@group(0) @binding(0) var<storage, read_write> c: array<Counters>;
var<workgroup> bins: array<atomic<u32>, 8>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  f(l);
}

fn f(i: u32) {
  let slot = atomicAdd(&c[i].sum, i);
  let done = atomicCompareExchangeWeak(&c[slot].low[1], 0, 5);
  atomicMax(&c[0].low[0], done.old_value);
}

// --- passes: normalizeAccesses, declareReport, replicate, executeAtomicsOnce

fn f(i: u32) {
  belay_signature = belay_fold(belay_signature ^ 2654435761u ^ u32(i), bitcast<u32>(i));
  let belay_place_1 = min(belay_met_1[belay_replica], 1u);
  belay_met_1[belay_replica]++;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 1u) {
    belay_result_1[belay_place_1] = atomicAdd(&c[i].sum, i);
    belay_tally += 2u * belay_weight;
  }
  let slot = belay_result_1[belay_place_1];
  belay_signature = belay_fold(belay_signature ^ 1013904226u, u32(slot));
  let belay_place_2 = min(belay_met_2[belay_replica], 1u);
  belay_met_2[belay_replica]++;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 1u) {
    let belay_exchange_1 = atomicCompareExchangeWeak(&c[slot].low[1], 0, 5);
    belay_result_2[belay_place_2] = vec2<u32>(bitcast<u32>(belay_exchange_1.old_value), u32(belay_exchange_1.exchanged));
    belay_tally += 2u * belay_weight;
  }
  let belay_shared_1 = belay_result_2[belay_place_2];
  let done = belay_Exchange_i32(bitcast<i32>(belay_shared_1.x), belay_shared_1.y != 0u);
  let belay_value_1 = done.old_value;
  belay_signature = belay_fold(belay_signature ^ 3668339987u, bitcast<u32>(belay_value_1));
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 1u) {
    atomicMax(&c[0].low[0], belay_value_1);
    belay_tally += 2u * belay_weight;
  }
}

var<private> belay_result_1: array<u32, 2>;
var<private> belay_met_1: array<u32, 2>;
var<private> belay_result_2: array<vec2<u32>, 2>;
var<private> belay_met_2: array<u32, 2>;

struct belay_Exchange_i32 {
  old_value: i32,
  exchanged: bool,
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_fold
