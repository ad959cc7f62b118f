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

var<workgroup> total: u32;

fn f(i: u32) {
  if (atomicExchange(&bins[0], 1u) == 0u) {
    total += i;
    atomicStore(&bins[0], 0u);
  }
}

// --- passes: normalizeAccesses, declareReport, replicate, executeAtomicsOnce

fn f(i: u32) {
  belay_signature = belay_fold(belay_signature ^ 2654435761u, 1u);
  _ = belay_agree1(1u, 0u, belay_signature);
  var belay_result_1: u32;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if ((belay_replica == 0u) | belay_alone) {
    belay_result_1 = atomicExchange(&bins[0], 1u);
    belay_tally += 2u * belay_weight;
  }
  let belay_value_1 = bitcast<u32>(belay_share1(1u, bitcast<u32>(belay_result_1)));
  if (belay_value_1 == 0u) {
    let belay_value_2: u32 = total + i;
    total = belay_value_2;
    belay_signature = belay_fold(belay_signature ^ 1013904226u, 1u);
    _ = belay_agree1(2u, 0u, belay_signature);
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      atomicStore(&bins[0], 0u);
      belay_tally += 2u * belay_weight;
    }
  }
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_fold, belay_alone, belay_turn, belay_slots, belay_share1, belay_agree1
