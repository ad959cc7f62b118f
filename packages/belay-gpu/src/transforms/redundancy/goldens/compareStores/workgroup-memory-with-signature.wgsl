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
  tile[i] = vec2(i > 3u, tile[0].x);
  tile[0].x = true;
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
  let belay_value_1: vec2<bool> = vec2(i > 3u, tile[0].x);
  belay_signature = belay_fold2(belay_signature ^ 1013904226u ^ u32(i), vec2<u32>(belay_value_1));
  if (belay_agree1(2u, 0u, belay_signature)) {
    tile[i] = belay_value_1;
  }
  let belay_value_2: bool = true;
  belay_signature = belay_fold(belay_signature ^ 3668339987u, 1u);
  if (belay_agree1(3u, 0u, belay_signature)) {
    tile[0].x = belay_value_2;
  }
}

var<private> belay_tally: u32;

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

// --- library: belay_signature, belay_finals, belay_conclude, belay_fold, belay_fold2, belay_alone, belay_turn, belay_slots, belay_agree1
