// --- input

enable chromium_experimental_subgroup_matrix, f16;

@group(0) @binding(0) var<storage, read_write> c: array<vec3f>;
@group(0) @binding(1) var<storage, read_write> halves: array<vec3h, 64>;

@compute @workgroup_size(64)
fn main() {
  subgroupMatrixStore<row_major>(&c, 5, subgroup_matrix_result<f32, 8, 8>(), arrayLength(&c) / 8);
  subgroupMatrixStore<col_major>(&halves, 0, subgroup_matrix_left<f16, 8, 8>(), 4);
}

// --- passes: normalizeAccesses, stageMatrices

enable subgroups;
diagnostic(off, chromium.subgroup_matrix_uniformity);
diagnostic(off, subgroup_uniformity);

@group(0) @binding(0) var<storage, read_write> c: array<array<u32, 4>>;
@group(0) @binding(1) var<storage, read_write> halves: array<array<u32, 2>, 64>;

@compute @workgroup_size(64)
fn main(@builtin(subgroup_id) belay_subgroup_id_1: u32, @builtin(subgroup_invocation_id) belay_subgroup_invocation_id_1: u32, @builtin(subgroup_size) belay_subgroup_size_1: u32) {
  belay_own_subgroup = belay_subgroup_id_1;
  belay_own_lane = belay_subgroup_invocation_id_1;
  belay_lane_count = belay_subgroup_size_1;
  let belay_value_1 = subgroup_matrix_result<f32, 8, 8>();
  let belay_value_2 = arrayLength(&c) / 8;
  for (var belay_turn_1 = 0u; belay_turn_1 < 2u; belay_turn_1++) {
    if (belay_own_subgroup == belay_turn_1) {
      subgroupMatrixStore<row_major>(&belay_staged_u32.numbers, 0u, belay_value_1, 8u);
    }
    workgroupBarrier();
    if (belay_own_subgroup == belay_turn_1) {
      for (var belay_element_1 = belay_own_lane; belay_element_1 < 64u; belay_element_1 += belay_lane_count) {
        let belay_index_1 = u32(5) + belay_element_1 / 8u * u32(belay_value_2) + belay_element_1 % 8u / 4u;
        let belay_value_4: u32 = belay_staged_u32.numbers[belay_element_1];
        c[belay_index_1][belay_element_1 % 8u % 4u] = belay_value_4;
      }
    }
    workgroupBarrier();
  }
  let belay_value_3 = subgroup_matrix_left<f16, 8, 8>();
  for (var belay_turn_2 = 0u; belay_turn_2 < 2u; belay_turn_2++) {
    if (belay_own_subgroup == belay_turn_2) {
      subgroupMatrixStore<col_major>(&belay_staged_u32.numbers, 0u, belay_value_3, 4u);
    }
    workgroupBarrier();
    if (belay_own_subgroup == belay_turn_2) {
      for (var belay_element_2 = belay_own_lane; belay_element_2 < 32u; belay_element_2 += belay_lane_count) {
        let belay_index_2 = u32(0) + belay_element_2 / 4u * u32(4) + belay_element_2 % 4u / 2u;
        let belay_value_5: u32 = belay_staged_u32.numbers[belay_element_2];
        halves[belay_index_2][belay_element_2 % 4u % 2u] = belay_value_5;
      }
    }
    workgroupBarrier();
  }
}

var<private> belay_own_subgroup: u32;
var<private> belay_own_lane: u32;
var<private> belay_lane_count: u32;

struct belay_Staged_u32 {
  aligned: vec4<u32>,
  numbers: array<u32, 64>,
}

var<workgroup> belay_staged_u32: belay_Staged_u32;
