// --- input

@group(0) @binding(0) var t1: texture_storage_1d<rgba8unorm, write>;
@group(0) @binding(1) var t2: texture_storage_2d<rgba32uint, write>;
@group(0) @binding(2) var t3: texture_storage_3d<rgba32sint, write>;
@group(0) @binding(3) var layers: texture_storage_2d_array<r32float, read_write>;

fn f(t: texture_storage_2d_array<r32float, read_write>, l: u32) {
  textureStore(t, vec2u(l), l, textureLoad(t, vec2u(l), l));
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  textureStore(t1, l, vec4f(1));
  textureStore(t2, vec2u(l, 1u), vec4u(l));
  textureStore(t3, vec3i(1, 2, 3), vec4i(4));
  f(layers, l);
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, replicate, compareStores

fn f(t: texture_storage_2d_array<r32float, read_write>, l: u32) {
  let belay_value_1 = vec2u(l);
  let belay_value_2 = textureLoad(t, vec2u(l), l);
  if (belay_agree4at(1u, belay_fold(belay_fold2(0u, bitcast<vec2<u32>>(belay_value_1)), l), bitcast<vec4<u32>>(belay_value_2))) {
    textureStore(t, belay_value_1, l, belay_value_2);
  }
}

@compute @workgroup_size(2u * 64u, 1u, 1u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let l: u32 = belay_local;
    if (belay_agree0at(2u, belay_fold(0u, l))) {
      belay_weight *= 0x9e3779b1u;
      belay_tally -= belay_weight;
      if (belay_replica == 0u) {
        textureStore(t1, l, vec4f(1));
        belay_tally += 2u * belay_weight;
      }
    }
    let belay_value_3 = vec2u(l, 1u);
    let belay_value_4 = vec4u(l);
    if (belay_agree4at(3u, belay_fold2(0u, bitcast<vec2<u32>>(belay_value_3)), bitcast<vec4<u32>>(belay_value_4))) {
      belay_weight *= 0x9e3779b1u;
      belay_tally -= belay_weight;
      if (belay_replica == 0u) {
        textureStore(t2, belay_value_3, belay_value_4);
        belay_tally += 2u * belay_weight;
      }
    }
    if (belay_agree0(4u, 0u)) {
      belay_weight *= 0x9e3779b1u;
      belay_tally -= belay_weight;
      if (belay_replica == 0u) {
        textureStore(t3, vec3i(1, 2, 3), vec4i(4));
        belay_tally += 2u * belay_weight;
      }
    }
    f(layers, l);
  }
  belay_conclude(5u);
}

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_fold, belay_fold2, belay_alone, belay_turn, belay_slots, belay_agree4at, belay_agree0at, belay_agree0, belay_signature, belay_finals, belay_conclude
