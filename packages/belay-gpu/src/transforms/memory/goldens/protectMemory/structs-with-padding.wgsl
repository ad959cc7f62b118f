// --- input

struct Part {
  at: vec3f,
  m: mat2x3f,
  list: array<vec2u, 2>,
  long: array<u32, 100>,
}

@group(0) @binding(0) var<storage, read> source: array<Part>;
@group(0) @binding(1) var<storage, read_write> to: array<Part>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  to[i] = source[i + 1u];
  to[i].at = source[i].m[i];
  to[0].m[1] = source[2].at;
}

// --- passes: resolvePointers, normalizeAccesses, expandSwizzles, declareReport, protectMemory

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  var belay_loaded_1 = belay_load_1(u32(i + 1u));
  var belay_loaded_2 = belay_load_3(u32(i), u32(i));
  var belay_loaded_3 = belay_load_5(u32(2));
  var belay_value_1: Part = belay_loaded_1;
  belay_store_1(u32(i), belay_value_1);
  var belay_value_2: vec3<f32> = belay_loaded_2;
  belay_store_2(u32(i), belay_value_2);
  var belay_value_3: vec3<f32> = belay_loaded_3;
  belay_store_3(u32(0), belay_value_3);
  if (belay_bad != 0u) {
    belay_bad = 0u;
    belay_loaded_1 = belay_load_2(u32(i + 1u));
    belay_loaded_2 = belay_load_4(u32(i), u32(i));
    belay_loaded_3 = belay_load_6(u32(2));
    belay_value_1 = belay_loaded_1;
    belay_store_1(u32(i), belay_value_1);
    belay_value_2 = belay_loaded_2;
    belay_store_2(u32(i), belay_value_2);
    belay_value_3 = belay_loaded_3;
    belay_store_3(u32(0), belay_value_3);
    belay_tell();
  }
}

@group(1) @binding(2) var<uniform> belay_check_table: array<vec4<u32>, 2>;
@group(0) @binding(0) var<storage, read> belay_granules_source: array<vec4<u32>>;

fn belay_peeked_source_read_write(granule: u32) -> vec4<u32> {
  let data = belay_granules_source[granule];
  let syndrome = belay_secded128_syndrome(data, belay_check_words_read_write[belay_check_table[0].x + granule]);
  belay_bad |= syndrome;
  return data;
}

@group(1) @binding(1) var<storage, read_write> belay_check_words_read_write: array<u32>;

fn belay_secded128_encode(data: vec4<u32>) -> u32 {
  let turned0 = data.x ^ ((data.y << 1u) | (data.y >> 31u)) ^ ((data.z << 2u) | (data.z >> 30u)) ^ ((data.w << 3u) | (data.w >> 29u));
  let sumOfTurned = turned0;
  return data.x ^ data.y ^ data.z ^ data.w ^ ((turned0 << 2u) | (turned0 >> 30u)) ^ ((sumOfTurned << 16u) | (sumOfTurned >> 16u));
}

fn belay_secded128_contribution(position: u32, word: u32) -> u32 {
  let turned = (word << (position & 3u)) | (word >> ((32u - (position & 3u)) & 31u));
  return word ^ ((turned << 2u) | (turned >> 30u)) ^ ((turned << 16u) | (turned >> 16u));
}

fn belay_secded128_syndrome(data: vec4<u32>, check: u32) -> u32 {
  return belay_secded128_encode(data) ^ check;
}

struct belay_secded128_Corrected {
  data: vec4<u32>,
  status: u32,
}

fn belay_secded128_correct(data: vec4<u32>, syndrome: u32) -> belay_secded128_Corrected {
  let weight = countOneBits(syndrome);
  let three = select(0u, syndrome, weight == 3u);
  let wrong0 = three & ((three << 30u) | (three >> 2u)) & ((three << 16u) | (three >> 16u));
  let wrong1 = three & ((three << 29u) | (three >> 3u)) & ((three << 15u) | (three >> 17u));
  let wrong2 = three & ((three << 28u) | (three >> 4u)) & ((three << 14u) | (three >> 18u));
  let wrong3 = three & ((three << 27u) | (three >> 5u)) & ((three << 13u) | (three >> 19u));
  let status = select(2u, min(weight, 1u), weight < 2u || (wrong0 | wrong1 | wrong2 | wrong3) != 0u);
  return belay_secded128_Corrected(vec4<u32>(data.x ^ wrong0, data.y ^ wrong1, data.z ^ wrong2, data.w ^ wrong3), status);
}

var<private> belay_bad: u32;

fn belay_repaired_source_read_write(granule: u32) -> vec4<u32> {
  let data = belay_granules_source[granule];
  let syndrome = belay_secded128_syndrome(data, belay_check_words_read_write[belay_check_table[0].x + granule]);
  return belay_repaired_secded128(data, 0u, granule, syndrome);
}

fn belay_repaired_secded128(data: vec4<u32>, binding: u32, granule: u32, syndrome: u32) -> vec4<u32> {
  let result = belay_secded128_correct(data, syndrome);
  belay_note(result.status, binding, granule, syndrome);
  return result.data;
}

fn belay_note(status: u32, binding: u32, granule: u32, syndrome: u32) {
  let found = status != 0u;
  belay_found += vec2<u32>(u32(status == 1u), u32(status == 2u));
  belay_finding = select(belay_finding, vec3<u32>(binding, granule, syndrome), found);
}

var<private> belay_found: vec2<u32>;
var<private> belay_finding: vec3<u32>;
@group(0) @binding(1) var<storage, read_write> belay_granules_to: array<vec4<u32>>;

fn belay_store_to_read_write(granule: u32, data: vec4<u32>) {
  belay_granules_to[granule] = data;
  belay_check_words_read_write[belay_check_table[1].x + granule] = belay_secded128_encode(data);
}

fn belay_corrected_to_read_write(granule: u32) -> vec4<u32> {
  let data = belay_granules_to[granule];
  let syndrome = belay_secded128_syndrome(data, belay_check_words_read_write[belay_check_table[1].x + granule]);
  if (syndrome == 0u) {
    return data;
  }
  let right = belay_repaired_secded128(data, 1u, granule, syndrome);
  belay_tell();
  return right;
}

fn belay_tell() {
  if (belay_replica == 0u) {
    let first = vec2<u32>(atomicAdd(&belay_report.findings[0], belay_found.x), atomicAdd(&belay_report.findings[1], belay_found.y));
    for (var list = 0u; list < 2u; list++) {
      for (var at = first[list]; at < min(first[list] + belay_found[list], 8u); at++) {
        belay_report.memory_records[list][at] = array<u32, 4>(belay_finding.x, belay_finding.y, belay_finding.z, belay_check_table[belay_finding.x].x);
      }
    }
  }
  belay_found = vec2<u32>();
}

fn belay_load_1(belay_index_1: u32) -> Part {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 464u - 1u);
  let belay_granule_1 = belay_peeked_source_read_write(belay_at_1 * 29u);
  let belay_granule_2 = belay_peeked_source_read_write(belay_at_1 * 29u + 1u);
  let belay_granule_3 = belay_peeked_source_read_write(belay_at_1 * 29u + 2u);
  let belay_granule_4 = belay_peeked_source_read_write(belay_at_1 * 29u + 3u);
  var belay_array_5: array<u32, 100>;
  for (var belay_i_6 = 0u; belay_i_6 < 100u; belay_i_6++) {
    let belay_byte_7 = belay_at_1 * 464u + belay_i_6 * 4u + 64u;
    let belay_granule_8 = belay_peeked_source_read_write(belay_byte_7 / 16u);
    belay_array_5[belay_i_6] = select(select(belay_granule_8.x, belay_granule_8.y, (belay_byte_7 & 4u) != 0u), select(belay_granule_8.z, belay_granule_8.w, (belay_byte_7 & 4u) != 0u), (belay_byte_7 & 8u) != 0u);
  }
  return Part(bitcast<vec3<f32>>(belay_granule_1.xyz), mat2x3<f32>(bitcast<vec3<f32>>(belay_granule_2.xyz), bitcast<vec3<f32>>(belay_granule_3.xyz)), array<vec2<u32>, 2>(belay_granule_4.xy, belay_granule_4.zw), belay_array_5);
}

fn belay_load_2(belay_index_1: u32) -> Part {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 464u - 1u);
  let belay_granule_1 = belay_repaired_source_read_write(belay_at_1 * 29u);
  let belay_granule_2 = belay_repaired_source_read_write(belay_at_1 * 29u + 1u);
  let belay_granule_3 = belay_repaired_source_read_write(belay_at_1 * 29u + 2u);
  let belay_granule_4 = belay_repaired_source_read_write(belay_at_1 * 29u + 3u);
  var belay_array_5: array<u32, 100>;
  for (var belay_i_6 = 0u; belay_i_6 < 100u; belay_i_6++) {
    let belay_byte_7 = belay_at_1 * 464u + belay_i_6 * 4u + 64u;
    let belay_granule_8 = belay_repaired_source_read_write(belay_byte_7 / 16u);
    belay_array_5[belay_i_6] = select(select(belay_granule_8.x, belay_granule_8.y, (belay_byte_7 & 4u) != 0u), select(belay_granule_8.z, belay_granule_8.w, (belay_byte_7 & 4u) != 0u), (belay_byte_7 & 8u) != 0u);
  }
  return Part(bitcast<vec3<f32>>(belay_granule_1.xyz), mat2x3<f32>(bitcast<vec3<f32>>(belay_granule_2.xyz), bitcast<vec3<f32>>(belay_granule_3.xyz)), array<vec2<u32>, 2>(belay_granule_4.xy, belay_granule_4.zw), belay_array_5);
}

fn belay_store_1(belay_index_1: u32, belay_value: Part) {
  if (belay_index_1 > belay_check_table[1].y / 464u - 1u) {
    return;
  }
  let belay_words_1 = bitcast<vec3<u32>>(belay_value.at);
  let belay_words_2 = bitcast<vec3<u32>>(belay_value.m[0]);
  let belay_words_3 = bitcast<vec3<u32>>(belay_value.m[1]);
  let belay_words_4 = bitcast<vec2<u32>>(belay_value.list[0]);
  let belay_words_5 = bitcast<vec2<u32>>(belay_value.list[1]);
  for (var belay_i_6 = 0u; belay_i_6 < 25u; belay_i_6++) {
    belay_store_to_read_write(belay_index_1 * 29u + belay_i_6 + 4u, vec4<u32>(belay_value.long[belay_i_6 * 4u + 0u], belay_value.long[belay_i_6 * 4u + 1u], belay_value.long[belay_i_6 * 4u + 2u], belay_value.long[belay_i_6 * 4u + 3u]));
  }
  let belay_old_7 = belay_corrected_to_read_write(belay_index_1 * 29u);
  belay_store_to_read_write(belay_index_1 * 29u, vec4<u32>(belay_words_1.x, belay_words_1.y, belay_words_1.z, belay_old_7.w));
  let belay_old_8 = belay_corrected_to_read_write(belay_index_1 * 29u + 1u);
  belay_store_to_read_write(belay_index_1 * 29u + 1u, vec4<u32>(belay_words_2.x, belay_words_2.y, belay_words_2.z, belay_old_8.w));
  let belay_old_9 = belay_corrected_to_read_write(belay_index_1 * 29u + 2u);
  belay_store_to_read_write(belay_index_1 * 29u + 2u, vec4<u32>(belay_words_3.x, belay_words_3.y, belay_words_3.z, belay_old_9.w));
  belay_store_to_read_write(belay_index_1 * 29u + 3u, vec4<u32>(belay_words_4.x, belay_words_4.y, belay_words_5.x, belay_words_5.y));
}

fn belay_load_3(belay_index_1: u32, belay_index_2: u32) -> vec3<f32> {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 464u - 1u);
  let belay_at_2 = min(belay_index_2, 1u);
  let belay_granule_1 = belay_peeked_source_read_write(belay_at_1 * 29u + belay_at_2 + 1u);
  return bitcast<vec3<f32>>(belay_granule_1.xyz);
}

fn belay_load_4(belay_index_1: u32, belay_index_2: u32) -> vec3<f32> {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 464u - 1u);
  let belay_at_2 = min(belay_index_2, 1u);
  let belay_granule_1 = belay_repaired_source_read_write(belay_at_1 * 29u + belay_at_2 + 1u);
  return bitcast<vec3<f32>>(belay_granule_1.xyz);
}

fn belay_store_2(belay_index_1: u32, belay_value: vec3<f32>) {
  if (belay_index_1 > belay_check_table[1].y / 464u - 1u) {
    return;
  }
  let belay_words_1 = bitcast<vec3<u32>>(belay_value);
  let belay_old_2 = belay_corrected_to_read_write(belay_index_1 * 29u);
  belay_store_to_read_write(belay_index_1 * 29u, vec4<u32>(belay_words_1.x, belay_words_1.y, belay_words_1.z, belay_old_2.w));
}

fn belay_load_5(belay_index_1: u32) -> vec3<f32> {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 464u - 1u);
  let belay_granule_1 = belay_peeked_source_read_write(belay_at_1 * 29u);
  return bitcast<vec3<f32>>(belay_granule_1.xyz);
}

fn belay_load_6(belay_index_1: u32) -> vec3<f32> {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 464u - 1u);
  let belay_granule_1 = belay_repaired_source_read_write(belay_at_1 * 29u);
  return bitcast<vec3<f32>>(belay_granule_1.xyz);
}

fn belay_store_3(belay_index_1: u32, belay_value: vec3<f32>) {
  if (belay_index_1 > belay_check_table[1].y / 464u - 1u) {
    return;
  }
  let belay_words_1 = bitcast<vec3<u32>>(belay_value);
  let belay_old_2 = belay_corrected_to_read_write(belay_index_1 * 29u + 2u);
  belay_store_to_read_write(belay_index_1 * 29u + 2u, vec4<u32>(belay_words_1.x, belay_words_1.y, belay_words_1.z, belay_old_2.w));
}
