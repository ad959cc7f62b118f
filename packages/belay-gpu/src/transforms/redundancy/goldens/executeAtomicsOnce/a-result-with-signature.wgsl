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
  let low = atomicMin(&c[0].low[i], -1);
}

// --- passes: normalizeAccesses, declareReport, replicate, executeAtomicsOnce

fn f(i: u32) {
  belay_signature = belay_fold(belay_signature ^ 2654435761u ^ u32(i), bitcast<u32>(i));
  _ = belay_agree1(1u, 0u, belay_signature);
  var belay_result_1: u32;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if ((belay_replica == 0u) | belay_alone) {
    belay_result_1 = atomicAdd(&c[i].sum, i);
    belay_tally += 2u * belay_weight;
  }
  let slot = bitcast<u32>(belay_share1(1u, bitcast<u32>(belay_result_1)));
  belay_signature = belay_fold(belay_signature ^ 1013904226u, u32(i));
  _ = belay_agree1(2u, 0u, belay_signature);
  var belay_result_2: i32;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if ((belay_replica == 0u) | belay_alone) {
    belay_result_2 = atomicMin(&c[0].low[i], -1);
    belay_tally += 2u * belay_weight;
  }
  let low = bitcast<i32>(belay_share1(2u, bitcast<u32>(belay_result_2)));
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_fold, belay_alone, belay_turn, belay_slots, belay_share1, belay_agree1
