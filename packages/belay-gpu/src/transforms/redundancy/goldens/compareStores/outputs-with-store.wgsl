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
  out[i] = i * 2u;
  out[3] = 4u;
  parts[i].at = vec3f(f32(i));
  parts[i + 1u].flags[i % 4u] = 7u;
  parts[0] = Part(vec3f(f32(i)), array(i, 1u, 2u, 3u));
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
  let belay_value_1: u32 = i * 2u;
  if (belay_agree1at(2u, (u32(i) << 2u) | (u32(i) >> 30u), belay_value_1)) {
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      out[i] = belay_value_1;
      belay_tally += 2u * belay_weight;
    }
  }
  let belay_value_2: u32 = 4u;
  if (belay_agree0(3u, 12u)) {
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      out[3] = belay_value_2;
      belay_tally += 2u * belay_weight;
    }
  }
  let belay_value_3: vec3<f32> = vec3f(f32(i));
  if (belay_agree3at(4u, (u32(i) << 5u) | (u32(i) >> 27u), bitcast<vec3<u32>>(belay_value_3))) {
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      parts[i].at = belay_value_3;
      belay_tally += 2u * belay_weight;
    }
  }
  let belay_value_4 = i + 1u;
  let belay_value_5 = i % 4u;
  let belay_value_6: u32 = 7u;
  if (belay_agree0at(5u, ((u32(belay_value_4) << 5u) | (u32(belay_value_4) >> 27u)) + ((u32(belay_value_5) << 2u) | (u32(belay_value_5) >> 30u)) + 12u)) {
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      parts[belay_value_4].flags[belay_value_5] = belay_value_6;
      belay_tally += 2u * belay_weight;
    }
  }
  let belay_value_7: Part = Part(vec3f(f32(i)), array(i, 1u, 2u, 3u));
  if (belay_agree1(6u, 0u, belay_hash_1(belay_value_7))) {
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      parts[0] = belay_value_7;
      belay_tally += 2u * belay_weight;
    }
  }
}

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_fold, belay_fold3, belay_hash_2, belay_hash_1, belay_signature, belay_finals, belay_conclude, belay_alone, belay_turn, belay_slots, belay_agree1at, belay_agree0, belay_agree3at, belay_agree0at, belay_agree1
