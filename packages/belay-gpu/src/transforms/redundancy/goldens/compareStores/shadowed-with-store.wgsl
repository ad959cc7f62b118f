// --- input

struct Part {
  at: vec3f,
  flags: array<u32, 4>,
}

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read_write> parts: array<Part>;
@group(0) @binding(2) var<storage, read_write> a: array<vec2u>;
var<workgroup> tile: array<vec2<bool>, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  f(l);
}

fn f(i: u32) {
  a[i] = a[i + 1u] * 2u;
  out[i] = i;
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, replicate, compareStores

@compute @workgroup_size(2u * 64u, 1u, 1u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let l: u32 = belay_local;
    f(l);
  }
  belay_conclude(1u);
}

fn f(i: u32) {
  let belay_value_1: vec2<u32> = a[i + 1u] * 2u;
  if (belay_agree2at(2u, (u32(i) << 3u) | (u32(i) >> 29u), bitcast<vec2<u32>>(belay_value_1))) {
    a[i] = belay_value_1;
  }
  if (belay_agree1at(3u, (u32(i) << 2u) | (u32(i) >> 30u), i)) {
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      out[i] = i;
      belay_tally += 2u * belay_weight;
    }
  }
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_finals, belay_conclude, belay_alone, belay_turn, belay_fold, belay_slots, belay_agree2at, belay_agree1at
