// --- input

enable chromium_experimental_subgroup_matrix;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
@group(0) @binding(2) var<storage, read_write> bytes: array<u32>;

@compute @workgroup_size(64)
fn main() {
  let left = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>>(&a, 0, false, 8);
  let sum = subgroupMatrixLoad<subgroup_matrix_result<f32, 8, 8>, col_major>(&c, 64, 16);
  subgroupMatrixStore(&c, 64, subgroupMatrixMultiplyAccumulate(left, subgroup_matrix_right<f32, 8, 8>(), sum), true, 16);
}

// --- passes: normalizeAccesses, stageMatrices

enable subgroups;
diagnostic(off, chromium.subgroup_matrix_uniformity);
diagnostic(off, subgroup_uniformity);

@compute @workgroup_size(64)
fn main(@builtin(subgroup_id) belay_subgroup_id_1: u32, @builtin(subgroup_invocation_id) belay_subgroup_invocation_id_1: u32, @builtin(subgroup_size) belay_subgroup_size_1: u32) {
  belay_own_subgroup = belay_subgroup_id_1;
  belay_own_lane = belay_subgroup_invocation_id_1;
  belay_lane_count = belay_subgroup_size_1;
  let left = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>>(&a, 0, false, 8);
  var belay_matrix_1: subgroup_matrix_result<f32, 8, 8>;
  for (var belay_turn_1 = 0u; belay_turn_1 < 2u; belay_turn_1++) {
    if (belay_own_subgroup == belay_turn_1) {
      for (var belay_element_1 = belay_own_lane; belay_element_1 < 64u; belay_element_1 += belay_lane_count) {
        let belay_index_1 = u32(64) + belay_element_1 / 8u * u32(16) + belay_element_1 % 8u;
        let belay_value_2: f32 = c[belay_index_1];
        belay_staged_f32.numbers[belay_element_1] = belay_value_2;
      }
    }
    workgroupBarrier();
    if (belay_own_subgroup == belay_turn_1) {
      belay_matrix_1 = subgroupMatrixLoad<subgroup_matrix_result<f32, 8, 8>, col_major>(&belay_staged_f32.numbers, 0u, 8u);
    }
    workgroupBarrier();
  }
  let sum = belay_matrix_1;
  let belay_value_1 = subgroupMatrixMultiplyAccumulate(left, subgroup_matrix_right<f32, 8, 8>(), sum);
  for (var belay_turn_2 = 0u; belay_turn_2 < 2u; belay_turn_2++) {
    if (belay_own_subgroup == belay_turn_2) {
      subgroupMatrixStore(&belay_staged_f32.numbers, 0u, belay_value_1, true, 8u);
    }
    workgroupBarrier();
    if (belay_own_subgroup == belay_turn_2) {
      for (var belay_element_2 = belay_own_lane; belay_element_2 < 64u; belay_element_2 += belay_lane_count) {
        let belay_index_2 = u32(64) + belay_element_2 / 8u * u32(16) + belay_element_2 % 8u;
        let belay_value_3: f32 = belay_staged_f32.numbers[belay_element_2];
        c[belay_index_2] = belay_value_3;
      }
    }
    workgroupBarrier();
  }
}

var<private> belay_own_subgroup: u32;
var<private> belay_own_lane: u32;
var<private> belay_lane_count: u32;

struct belay_Staged_f32 {
  aligned: vec4<u32>,
  numbers: array<f32, 64>,
}

var<workgroup> belay_staged_f32: belay_Staged_f32;
