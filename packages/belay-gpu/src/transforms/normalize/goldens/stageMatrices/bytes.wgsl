// --- input

enable chromium_experimental_subgroup_matrix;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
@group(0) @binding(2) var<storage, read_write> bytes: array<u32>;

@compute @workgroup_size(64)
fn main() {
  subgroupMatrixStore<row_major>(&bytes, 0, subgroup_matrix_result<u8, 16, 8>(), 32);
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
  let belay_value_1 = subgroup_matrix_result<u8, 16, 8>();
  for (var belay_turn_1 = 0u; belay_turn_1 < 2u; belay_turn_1++) {
    if (belay_own_subgroup == belay_turn_1) {
      subgroupMatrixStore<row_major>(&belay_staged_u32.numbers, 0u, belay_value_1, 4u);
    }
    workgroupBarrier();
    if (belay_own_subgroup == belay_turn_1) {
      for (var belay_element_1 = belay_own_lane; belay_element_1 < 32u; belay_element_1 += belay_lane_count) {
        let belay_index_1 = u32(0) + belay_element_1 / 4u * u32(32) + belay_element_1 % 4u;
        let belay_value_2: u32 = belay_staged_u32.numbers[belay_element_1];
        bytes[belay_index_1] = belay_value_2;
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
  numbers: array<u32, 32>,
}

var<workgroup> belay_staged_u32: belay_Staged_u32;
