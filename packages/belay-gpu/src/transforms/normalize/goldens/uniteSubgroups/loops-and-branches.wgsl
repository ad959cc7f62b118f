// --- input

enable chromium_experimental_subgroup_matrix;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
var<workgroup> tile: array<f32, 64>;

fn load(at: u32) -> subgroup_matrix_left<f32, 8, 8> {
  return subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>>(&a, at, false, 8);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) i: u32) {
  var sum: subgroup_matrix_result<f32, 8, 8>;
  for (var k = group.x; k < group.y; k++) {
    if (k == group.z) {
      continue;
    }
    sum = subgroupMatrixMultiplyAccumulate(load(k), subgroup_matrix_right<f32, 8, 8>(), sum);
  }
  loop {
    if (i > 3u) {
      break;
    }
  }
  subgroupMatrixStore(&c, 0, sum, false, 8);
}

// --- passes: normalizeAccesses, stageMatrices, uniteSubgroups

fn load(at: u32) -> subgroup_matrix_left<f32, 8, 8> {
  return subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>>(&a, subgroupBroadcastFirst(at), false, 8);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) i: u32, @builtin(subgroup_id) belay_subgroup_id_1: u32, @builtin(subgroup_invocation_id) belay_subgroup_invocation_id_1: u32, @builtin(subgroup_size) belay_subgroup_size_1: u32) {
  belay_own_subgroup = belay_subgroup_id_1;
  belay_own_lane = belay_subgroup_invocation_id_1;
  belay_lane_count = belay_subgroup_size_1;
  var sum: subgroup_matrix_result<f32, 8, 8>;
  for (var k = group.x; subgroupAll(k < group.y); k++) {
    if (subgroupAll(k == group.z)) {
      continue;
    }
    sum = subgroupMatrixMultiplyAccumulate(load(k), subgroup_matrix_right<f32, 8, 8>(), sum);
  }
  loop {
    if (i > 3u) {
      break;
    }
  }
  let belay_value_1 = sum;
  for (var belay_turn_1 = 0u; belay_turn_1 < 2u; belay_turn_1++) {
    if (subgroupAll(belay_own_subgroup == belay_turn_1)) {
      subgroupMatrixStore(&belay_staged_f32.numbers, 0u, belay_value_1, false, 8u);
    }
    workgroupBarrier();
    if (belay_own_subgroup == belay_turn_1) {
      for (var belay_element_1 = belay_own_lane; belay_element_1 < 64u; belay_element_1 += belay_lane_count) {
        let belay_index_1 = u32(0) + belay_element_1 / 8u * u32(8) + belay_element_1 % 8u;
        let belay_value_2: f32 = belay_staged_f32.numbers[belay_element_1];
        c[belay_index_1] = belay_value_2;
      }
    }
    workgroupBarrier();
  }
}
