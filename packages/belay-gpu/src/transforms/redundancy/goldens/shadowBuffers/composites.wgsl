// --- input

struct Part {
  at: vec3f,
  list: array<u32, 4>,
  m: mat2x2f,
}

@group(0) @binding(0) var<storage, read_write> parts: array<Part>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  parts[i] = parts[i + 1u];
  parts[0].list = parts[i].list;
  parts[i].at.zx = parts[i].at.xy * parts[2].m[1] + parts[i].m[i][1];
  parts[i].list[i] = parts[i].list[parts[0].list[1]];
}

// --- passes: resolvePointers, normalizeAccesses, expandSwizzles, declareReport, shadow

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  let belay_value_1: Part = belay_load_1(u32(i + 1u));
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    parts[i] = belay_value_1;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_parts[i] = belay_value_1;
  }
  let belay_value_2: array<u32, 4> = belay_load_2(u32(i));
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    parts[0].list = belay_value_2;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_parts[0].list = belay_value_2;
  }
  let belay_value_3: vec2<f32> = belay_load_3(u32(i)).xy * belay_load_4() + belay_load_5(u32(i), u32(i));
  let belay_value_5 = belay_value_3.x;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    parts[i].at.z = belay_value_5;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_parts[i].at.z = belay_value_5;
  }
  let belay_value_6 = belay_value_3.y;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    parts[i].at.x = belay_value_6;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_parts[i].at.x = belay_value_6;
  }
  let belay_value_4: u32 = belay_load_7(u32(i), u32(belay_load_6()));
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    parts[i].list[i] = belay_value_4;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_parts[i].list[i] = belay_value_4;
  }
}

@group(1) @binding(1) var<storage, read_write> belay_shadow_parts: array<Part>;

fn belay_load_1(belay_index_1: u32) -> Part {
  if (belay_replica == 0u) {
    return parts[belay_index_1];
  }
  return belay_shadow_parts[belay_index_1];
}

fn belay_load_2(belay_index_1: u32) -> array<u32, 4> {
  if (belay_replica == 0u) {
    return parts[belay_index_1].list;
  }
  return belay_shadow_parts[belay_index_1].list;
}

fn belay_load_3(belay_index_1: u32) -> vec3<f32> {
  if (belay_replica == 0u) {
    return parts[belay_index_1].at;
  }
  return belay_shadow_parts[belay_index_1].at;
}

fn belay_load_4() -> vec2<f32> {
  if (belay_replica == 0u) {
    return parts[2].m[1];
  }
  return belay_shadow_parts[2].m[1];
}

fn belay_load_5(belay_index_1: u32, belay_index_2: u32) -> f32 {
  if (belay_replica == 0u) {
    return parts[belay_index_1].m[belay_index_2][1];
  }
  return belay_shadow_parts[belay_index_1].m[belay_index_2][1];
}

fn belay_load_6() -> u32 {
  if (belay_replica == 0u) {
    return parts[0].list[1];
  }
  return belay_shadow_parts[0].list[1];
}

fn belay_load_7(belay_index_1: u32, belay_index_2: u32) -> u32 {
  if (belay_replica == 0u) {
    return parts[belay_index_1].list[belay_index_2];
  }
  return belay_shadow_parts[belay_index_1].list[belay_index_2];
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;
