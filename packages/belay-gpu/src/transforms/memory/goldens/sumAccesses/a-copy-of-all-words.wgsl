// --- input

@group(0) @binding(0) var<storage, read> input: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> output: array<vec2u>;

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  output[id.x] = input[id.x].xy + input[id.y].zw;
}

// --- passes: normalizeAccesses, declareReport, ids, sumAccesses

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_local = belay_in_local_invocation_index;
  {
    let belay_value_1 = id.x;
    let belay_value_2: vec2<u32> = belay_summed_load_1(u32(id.x)).xy + belay_summed_load_2(u32(id.y)).zw;
    belay_summed_store_1(u32(belay_value_1), belay_value_2);
  }
  _ = &belay_report;
  let belay_all_1 = belay_sum_0_of_input * select(2u, 1u, (belay_workgroup.y | belay_workgroup.z) == 0u) + belay_sum_1_of_input * select(4u, 2u, (belay_workgroup.x | belay_workgroup.z | (belay_local % 8u)) == 0u);
  atomicAdd(&belay_sums_of_main[0], belay_all_1.x);
  atomicAdd(&belay_sums_of_main[1], belay_all_1.y);
  let belay_all_2 = belay_sum_0_of_output;
  atomicAdd(&belay_sums_of_main[4], belay_all_2.x);
  atomicAdd(&belay_sums_of_main[5], belay_all_2.y);
  workgroupBarrier();
  let belay_part = belay_local;
  if (belay_part < 8u) {
    let at = (belay_workgroup.x + belay_workgroup.y * 5u + belay_workgroup.z * 7u) % 64u * 256u + belay_check_table[0].x * 4u;
    atomicAdd(&belay_sum_slots[at + belay_part], atomicLoad(&belay_sums_of_main[belay_part]));
  }
}

var<private> belay_sum_0_of_input: vec2<u32>;
var<private> belay_sum_1_of_input: vec2<u32>;
var<private> belay_sum_0_of_output: vec2<u32>;

fn belay_checksum_weighted(quad: u32, sum: u32, places: u32) -> vec3<u32> {
  let mixed = quad * 0x9e3779b1u + 0x7f4a7c15u;
  let key = mixed ^ (mixed >> 16u);
  return vec3<u32>(key | 1u, (key << 16u) | (key >> 16u) | 1u, key | 1u) * vec3<u32>(sum, sum, places);
}

fn belay_checksum_quad(quad: u32, data: vec4<u32>) -> vec3<u32> {
  let folded = data + (data >> vec4<u32>(16u));
  let sum = folded.x + folded.y * 0x85ebca6bu + folded.z * 0x17af29a9u + folded.w * 0xb54a1dbbu;
  return belay_checksum_weighted(quad, sum, 0x52e511d0u);
}

fn belay_checksum_pair(at: u32, data: vec2<u32>) -> vec3<u32> {
  let folded = data + (data >> vec2<u32>(16u));
  let place = at & 2u;
  let first = place * place * 0x85ebca6au + 1u;
  let second = first + (2u * place + 1u) * 0x85ebca6au;
  return belay_checksum_weighted(at >> 2u, folded.x * first + folded.y * second, first + second);
}

fn belay_checksum_word(at: u32, data: u32) -> vec3<u32> {
  let place = at & 3u;
  let factor = place * place * 0x85ebca6au + 1u;
  return belay_checksum_weighted(at >> 2u, (data + (data >> 16u)) * factor, factor);
}

fn belay_summed_load_1(belay_index_1: u32) -> vec4<u32> {
  let belay_value = input[belay_index_1];
  belay_sum_0_of_input += belay_checksum_quad(belay_index_1, bitcast<vec4<u32>>(belay_value)).xy;
  return belay_value;
}

fn belay_summed_load_2(belay_index_1: u32) -> vec4<u32> {
  let belay_value = input[belay_index_1];
  belay_sum_1_of_input += belay_checksum_quad(belay_index_1, bitcast<vec4<u32>>(belay_value)).xy;
  return belay_value;
}

fn belay_summed_store_1(belay_index_1: u32, belay_value: vec2<u32>) {
  output[belay_index_1] = belay_value;
  belay_sum_0_of_output += belay_checksum_pair(belay_index_1 * 2u, bitcast<vec2<u32>>(belay_value)).xy;
}

var<workgroup> belay_sums_of_main: array<atomic<u32>, 8>;
@group(1) @binding(1) var<storage, read_write> belay_sum_slots: array<atomic<u32>>;
@group(1) @binding(2) var<uniform> belay_check_table: array<vec4<u32>, 2>;
