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
  var taken = atomicCompareExchangeWeak(&c[i].low[1], 0, i32(i));
  if (!taken.exchanged) {
    taken = atomicCompareExchangeWeak(&c[i].low[1], taken.old_value, 5);
  }
  let done = atomicCompareExchangeWeak(&bins[i], 1u, 2u).exchanged;
}

// --- passes: normalizeAccesses, declareReport, replicate, executeAtomicsOnce

fn f(i: u32) {
  let belay_value_1 = i32(i);
  belay_signature = belay_fold(belay_signature ^ 2654435761u ^ u32(i), bitcast<u32>(belay_value_1));
  _ = belay_agree1(1u, 0u, belay_signature);
  var belay_result_1: vec2<u32>;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if ((belay_replica == 0u) | belay_alone) {
    let belay_exchange_1 = atomicCompareExchangeWeak(&c[i].low[1], 0, belay_value_1);
    belay_result_1 = vec2<u32>(bitcast<u32>(belay_exchange_1.old_value), u32(belay_exchange_1.exchanged));
    belay_tally += 2u * belay_weight;
  }
  let belay_shared_1 = belay_share2(1u, belay_result_1);
  let belay_value_2 = belay_Exchange_i32(bitcast<i32>(belay_shared_1.x), belay_shared_1.y != 0u);
  var taken = belay_value_2;
  if (!taken.exchanged) {
    let belay_value_3 = taken.old_value;
    belay_signature = belay_fold(belay_signature ^ 1013904226u ^ u32(i), bitcast<u32>(belay_value_3));
    _ = belay_agree1(2u, 0u, belay_signature);
    var belay_result_2: vec2<u32>;
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if ((belay_replica == 0u) | belay_alone) {
      let belay_exchange_2 = atomicCompareExchangeWeak(&c[i].low[1], belay_value_3, 5);
      belay_result_2 = vec2<u32>(bitcast<u32>(belay_exchange_2.old_value), u32(belay_exchange_2.exchanged));
      belay_tally += 2u * belay_weight;
    }
    let belay_shared_2 = belay_share2(2u, belay_result_2);
    let belay_value_4 = belay_Exchange_i32(bitcast<i32>(belay_shared_2.x), belay_shared_2.y != 0u);
    taken = belay_value_4;
  }
  belay_signature = belay_fold(belay_signature ^ 3668339987u, u32(i));
  _ = belay_agree1(3u, 0u, belay_signature);
  var belay_result_3: vec2<u32>;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if ((belay_replica == 0u) | belay_alone) {
    let belay_exchange_3 = atomicCompareExchangeWeak(&bins[i], 1u, 2u);
    belay_result_3 = vec2<u32>(bitcast<u32>(belay_exchange_3.old_value), u32(belay_exchange_3.exchanged));
    belay_tally += 2u * belay_weight;
  }
  let belay_shared_3 = belay_share2(3u, belay_result_3);
  let belay_value_5 = belay_Exchange_u32(bitcast<u32>(belay_shared_3.x), belay_shared_3.y != 0u);
  let done = belay_value_5.exchanged;
}

struct belay_Exchange_i32 {
  old_value: i32,
  exchanged: bool,
}

struct belay_Exchange_u32 {
  old_value: u32,
  exchanged: bool,
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_fold, belay_alone, belay_turn, belay_slots, belay_share1, belay_share2, belay_agree1
