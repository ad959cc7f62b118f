// --- input

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn bump(p: ptr<storage, u32, read_write>) -> u32 {
  *p += 1u;
  return *p;
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  a[i] += a[a[i + 1u]];
  if (i < arrayLength(&a) && a[i] > 3u) {
    out[a[i]] = bump(&a[i]);
  }
  for (var k = a[0]; k < a[1]; k += a[2]) {
    a[k]++;
  }
}

// --- passes: resolvePointers, normalizeAccesses, expandSwizzles, declareReport, shadow

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  let belay_value_1: u32 = belay_load_1(u32(i)) + belay_load_1(u32(belay_load_1(u32(i + 1u))));
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    a[i] = belay_value_1;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_a[i] = belay_value_1;
  }
  if (i < arrayLength(&a) && belay_load_1(u32(i)) > 3u) {
    let belay_value_2 = belay_load_1(u32(i));
    let belay_value_3: u32 = belay_bump_1(u32(i));
    out[belay_value_2] = belay_value_3;
  }
  for (var k = belay_load_2(); k < belay_load_3(); k += belay_load_4()) {
    let belay_value_4 = k;
    let belay_value_5: u32 = belay_load_1(u32(belay_value_4)) + 1;
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      a[belay_value_4] = belay_value_5;
      belay_tally += 2u * belay_weight;
    } else {
      belay_shadow_a[belay_value_4] = belay_value_5;
    }
  }
}

fn belay_bump_1(belay_index_1: u32) -> u32 {
  let belay_value_6: u32 = belay_load_1(u32(belay_index_1)) + 1u;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if (belay_replica == 0u) {
    a[belay_index_1] = belay_value_6;
    belay_tally += 2u * belay_weight;
  } else {
    belay_shadow_a[belay_index_1] = belay_value_6;
  }
  return belay_load_1(u32(belay_index_1));
}

@group(1) @binding(1) var<storage, read_write> belay_shadow_a: array<u32>;

fn belay_load_1(belay_index_1: u32) -> u32 {
  if (belay_replica == 0u) {
    return a[belay_index_1];
  }
  return belay_shadow_a[belay_index_1];
}

fn belay_load_2() -> u32 {
  if (belay_replica == 0u) {
    return a[0];
  }
  return belay_shadow_a[0];
}

fn belay_load_3() -> u32 {
  if (belay_replica == 0u) {
    return a[1];
  }
  return belay_shadow_a[1];
}

fn belay_load_4() -> u32 {
  if (belay_replica == 0u) {
    return a[2];
  }
  return belay_shadow_a[2];
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;
