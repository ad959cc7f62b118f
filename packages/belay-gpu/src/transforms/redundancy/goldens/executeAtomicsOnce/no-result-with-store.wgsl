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
  atomicMax(&c[i + 1u].low[2], i32(i));
  atomicStore(&bins[3], 4u);
}

// --- passes: normalizeAccesses, declareReport, replicate, executeAtomicsOnce

fn f(i: u32) {
  let belay_value_1 = i + 1u;
  let belay_value_2 = i32(i);
  _ = belay_agree1at(1u, (((u32(belay_value_1) * 5u) << 2u) | ((u32(belay_value_1) * 5u) >> 30u)) + 12u, bitcast<u32>(belay_value_2));
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    atomicMax(&c[belay_value_1].low[2], belay_value_2);
    belay_tally += 2u * belay_weight;
  }
  _ = belay_agree0(2u, 12u);
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    atomicStore(&bins[3], 4u);
    belay_tally += 2u * belay_weight;
  }
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_alone, belay_turn, belay_fold, belay_slots, belay_agree1at, belay_agree0
