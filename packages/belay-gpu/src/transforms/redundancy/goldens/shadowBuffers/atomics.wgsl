// --- input

struct Bins {
  total: u32,
  all: array<atomic<u32>>,
}

@group(0) @binding(0) var<storage, read_write> bins: Bins;
@group(0) @binding(1) var<storage, read_write> other: array<u32>;

fn elsewhere() {
  other[0] = other[1];
}

@compute @workgroup_size(64)
fn main() {
  bins.total += atomicAdd(&bins.all[bins.total], bins.total);
}

// --- passes: resolvePointers, normalizeAccesses, expandSwizzles, declareReport, shadow

@compute @workgroup_size(64)
fn main() {
  let belay_value_2 = belay_load_1();
  let belay_value_3 = belay_load_1();
  let belay_value_4 = belay_load_1();
  let belay_value_5 = atomicAdd(&bins.all[belay_value_3], belay_value_4);
  let belay_value_6: u32 = belay_value_2 + belay_value_5;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    bins.total = belay_value_6;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_bins.total = belay_value_6;
  }
}

@group(1) @binding(1) var<storage, read_write> belay_shadow_bins: Bins;

fn belay_load_1() -> u32 {
  if (belay_replica == 0u) {
    return bins.total;
  }
  return belay_shadow_bins.total;
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;
