// --- input

enable f16;

struct Halves {
  one: f16,
  pair: vec2h,
  three: vec3h,
  all: array<vec4h, 2>,
}

@group(0) @binding(0) var<storage, read> source: array<Halves>;
@group(0) @binding(1) var<storage, read> halves: array<f16>;
@group(0) @binding(2) var<storage, read_write> to: array<Halves>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  var all = source[i];
  all.one += halves[i] * source[i].three[i];
  to[i] = all;
  to[i].pair = vec2h(halves[3], to[i].one);
}

// --- passes: resolvePointers, normalizeAccesses, expandSwizzles, declareReport, protectMemory

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  var belay_loaded_1 = belay_load_1(u32(i));
  var belay_loaded_2 = belay_load_3(u32(i));
  var belay_loaded_3 = belay_load_5(u32(i), u32(i));
  var all = belay_loaded_1;
  all.one += belay_loaded_2 * belay_loaded_3;
  var belay_value_1: Halves = all;
  belay_store_1(u32(i), belay_value_1);
  if (belay_bad != 0u) {
    belay_bad = 0u;
    belay_loaded_1 = belay_load_2(u32(i));
    belay_loaded_2 = belay_load_4(u32(i));
    belay_loaded_3 = belay_load_6(u32(i), u32(i));
    all = belay_loaded_1;
    all.one += belay_loaded_2 * belay_loaded_3;
    belay_value_1 = all;
    belay_store_1(u32(i), belay_value_1);
    belay_tell();
  }
  var belay_loaded_4 = belay_load_3(u32(3));
  var belay_loaded_5 = belay_load_7(u32(i));
  if (belay_bad != 0u) {
    belay_bad = 0u;
    belay_loaded_4 = belay_load_4(u32(3));
    belay_loaded_5 = belay_load_8(u32(i));
    belay_tell();
  }
  let belay_value_2: vec2<f16> = vec2h(belay_loaded_4, belay_loaded_5);
  belay_store_2(u32(i), belay_value_2);
}

@group(1) @binding(2) var<uniform> belay_check_table: array<vec4<u32>, 3>;
@group(0) @binding(0) var<storage, read> belay_granules_source: array<u32>;

fn belay_peeked_source_read_write(granule: u32) -> u32 {
  let data = belay_granules_source[granule];
  let syndrome = belay_secded32_syndrome(data, belay_check_words_read_write[belay_check_table[0].x + granule]);
  belay_bad |= syndrome;
  return data;
}

@group(1) @binding(1) var<storage, read_write> belay_check_words_read_write: array<u32>;

fn belay_secded32_encode(data: u32) -> u32 {
  let turned0 = data;
  let sumOfTurned = turned0;
  return data ^ ((turned0 << 2u) | (turned0 >> 30u)) ^ ((sumOfTurned << 16u) | (sumOfTurned >> 16u));
}

fn belay_secded32_contribution(position: u32, word: u32) -> u32 {
  let turned = (word << (position & 3u)) | (word >> ((32u - (position & 3u)) & 31u));
  return word ^ ((turned << 2u) | (turned >> 30u)) ^ ((turned << 16u) | (turned >> 16u));
}

fn belay_secded32_syndrome(data: u32, check: u32) -> u32 {
  return belay_secded32_encode(data) ^ check;
}

struct belay_secded32_Corrected {
  data: u32,
  status: u32,
}

fn belay_secded32_correct(data: u32, syndrome: u32) -> belay_secded32_Corrected {
  let weight = countOneBits(syndrome);
  let three = select(0u, syndrome, weight == 3u);
  let wrong0 = three & ((three << 30u) | (three >> 2u)) & ((three << 16u) | (three >> 16u));
  let status = select(2u, min(weight, 1u), weight < 2u || wrong0 != 0u);
  return belay_secded32_Corrected(data ^ wrong0, status);
}

var<private> belay_bad: u32;

fn belay_repaired_source_read_write(granule: u32) -> u32 {
  let data = belay_granules_source[granule];
  let syndrome = belay_secded32_syndrome(data, belay_check_words_read_write[belay_check_table[0].x + granule]);
  return belay_repaired_secded32(data, 0u, granule, syndrome);
}

fn belay_repaired_secded32(data: u32, binding: u32, granule: u32, syndrome: u32) -> u32 {
  let result = belay_secded32_correct(data, syndrome);
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
@group(0) @binding(1) var<storage, read> belay_granules_halves: array<u32>;

fn belay_peeked_halves_read_write(granule: u32) -> u32 {
  let data = belay_granules_halves[granule];
  let syndrome = belay_secded32_syndrome(data, belay_check_words_read_write[belay_check_table[1].x + granule]);
  belay_bad |= syndrome;
  return data;
}

fn belay_repaired_halves_read_write(granule: u32) -> u32 {
  let data = belay_granules_halves[granule];
  let syndrome = belay_secded32_syndrome(data, belay_check_words_read_write[belay_check_table[1].x + granule]);
  return belay_repaired_secded32(data, 1u, granule, syndrome);
}

@group(0) @binding(2) var<storage, read_write> belay_granules_to: array<u32>;

fn belay_corrected_to_read_write(granule: u32) -> u32 {
  let data = belay_granules_to[granule];
  let syndrome = belay_secded32_syndrome(data, belay_check_words_read_write[belay_check_table[2].x + granule]);
  if (syndrome == 0u) {
    return data;
  }
  let right = belay_repaired_secded32(data, 2u, granule, syndrome);
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

fn belay_store_to_read_write(granule: u32, data: u32) {
  belay_granules_to[granule] = data;
  belay_check_words_read_write[belay_check_table[2].x + granule] = belay_secded32_encode(data);
}

fn belay_peeked_to_read_write(granule: u32) -> u32 {
  let data = belay_granules_to[granule];
  let syndrome = belay_secded32_syndrome(data, belay_check_words_read_write[belay_check_table[2].x + granule]);
  belay_bad |= syndrome;
  return data;
}

fn belay_repaired_to_read_write(granule: u32) -> u32 {
  let data = belay_granules_to[granule];
  let syndrome = belay_secded32_syndrome(data, belay_check_words_read_write[belay_check_table[2].x + granule]);
  return belay_repaired_secded32(data, 2u, granule, syndrome);
}

fn belay_load_1(belay_index_1: u32) -> Halves {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 32u - 1u);
  let belay_granule_1 = belay_peeked_source_read_write(belay_at_1 * 8u);
  let belay_granule_2 = belay_peeked_source_read_write(belay_at_1 * 8u + 1u);
  let belay_granule_3 = belay_peeked_source_read_write(belay_at_1 * 8u + 2u);
  let belay_granule_4 = belay_peeked_source_read_write(belay_at_1 * 8u + 3u);
  let belay_granule_5 = belay_peeked_source_read_write(belay_at_1 * 8u + 4u);
  let belay_granule_6 = belay_peeked_source_read_write(belay_at_1 * 8u + 5u);
  let belay_granule_7 = belay_peeked_source_read_write(belay_at_1 * 8u + 6u);
  let belay_granule_8 = belay_peeked_source_read_write(belay_at_1 * 8u + 7u);
  return Halves(bitcast<vec2<f16>>(belay_granule_1).x, bitcast<vec2<f16>>(belay_granule_2), vec4<f16>(bitcast<vec2<f16>>(belay_granule_3), bitcast<vec2<f16>>(belay_granule_4)).xyz, array<vec4<f16>, 2>(vec4<f16>(bitcast<vec2<f16>>(belay_granule_5), bitcast<vec2<f16>>(belay_granule_6)), vec4<f16>(bitcast<vec2<f16>>(belay_granule_7), bitcast<vec2<f16>>(belay_granule_8))));
}

fn belay_load_2(belay_index_1: u32) -> Halves {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 32u - 1u);
  let belay_granule_1 = belay_repaired_source_read_write(belay_at_1 * 8u);
  let belay_granule_2 = belay_repaired_source_read_write(belay_at_1 * 8u + 1u);
  let belay_granule_3 = belay_repaired_source_read_write(belay_at_1 * 8u + 2u);
  let belay_granule_4 = belay_repaired_source_read_write(belay_at_1 * 8u + 3u);
  let belay_granule_5 = belay_repaired_source_read_write(belay_at_1 * 8u + 4u);
  let belay_granule_6 = belay_repaired_source_read_write(belay_at_1 * 8u + 5u);
  let belay_granule_7 = belay_repaired_source_read_write(belay_at_1 * 8u + 6u);
  let belay_granule_8 = belay_repaired_source_read_write(belay_at_1 * 8u + 7u);
  return Halves(bitcast<vec2<f16>>(belay_granule_1).x, bitcast<vec2<f16>>(belay_granule_2), vec4<f16>(bitcast<vec2<f16>>(belay_granule_3), bitcast<vec2<f16>>(belay_granule_4)).xyz, array<vec4<f16>, 2>(vec4<f16>(bitcast<vec2<f16>>(belay_granule_5), bitcast<vec2<f16>>(belay_granule_6)), vec4<f16>(bitcast<vec2<f16>>(belay_granule_7), bitcast<vec2<f16>>(belay_granule_8))));
}

fn belay_load_3(belay_index_1: u32) -> f16 {
  let belay_at_1 = min(belay_index_1, belay_check_table[1].y / 2u - 1u);
  let belay_byte_1 = belay_at_1 * 2u;
  let belay_granule_2 = belay_peeked_halves_read_write(belay_byte_1 / 4u);
  let belay_word_3 = belay_granule_2;
  return select(bitcast<vec2<f16>>(belay_word_3).x, bitcast<vec2<f16>>(belay_word_3).y, (belay_byte_1 & 2u) != 0u);
}

fn belay_load_4(belay_index_1: u32) -> f16 {
  let belay_at_1 = min(belay_index_1, belay_check_table[1].y / 2u - 1u);
  let belay_byte_1 = belay_at_1 * 2u;
  let belay_granule_2 = belay_repaired_halves_read_write(belay_byte_1 / 4u);
  let belay_word_3 = belay_granule_2;
  return select(bitcast<vec2<f16>>(belay_word_3).x, bitcast<vec2<f16>>(belay_word_3).y, (belay_byte_1 & 2u) != 0u);
}

fn belay_load_5(belay_index_1: u32, belay_index_2: u32) -> f16 {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 32u - 1u);
  let belay_at_2 = min(belay_index_2, 2u);
  let belay_byte_1 = belay_at_1 * 32u + belay_at_2 * 2u + 8u;
  let belay_granule_2 = belay_peeked_source_read_write(belay_byte_1 / 4u);
  let belay_word_3 = belay_granule_2;
  return select(bitcast<vec2<f16>>(belay_word_3).x, bitcast<vec2<f16>>(belay_word_3).y, (belay_byte_1 & 2u) != 0u);
}

fn belay_load_6(belay_index_1: u32, belay_index_2: u32) -> f16 {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 32u - 1u);
  let belay_at_2 = min(belay_index_2, 2u);
  let belay_byte_1 = belay_at_1 * 32u + belay_at_2 * 2u + 8u;
  let belay_granule_2 = belay_repaired_source_read_write(belay_byte_1 / 4u);
  let belay_word_3 = belay_granule_2;
  return select(bitcast<vec2<f16>>(belay_word_3).x, bitcast<vec2<f16>>(belay_word_3).y, (belay_byte_1 & 2u) != 0u);
}

fn belay_store_1(belay_index_1: u32, belay_value: Halves) {
  if (belay_index_1 > belay_check_table[2].y / 32u - 1u) {
    return;
  }
  let belay_old_1 = belay_corrected_to_read_write(belay_index_1 * 8u);
  belay_store_to_read_write(belay_index_1 * 8u, bitcast<u32>(vec2<f16>(belay_value.one, bitcast<vec2<f16>>(belay_old_1).y)));
  belay_store_to_read_write(belay_index_1 * 8u + 1u, bitcast<u32>(vec2<f16>(belay_value.pair.x, belay_value.pair.y)));
  belay_store_to_read_write(belay_index_1 * 8u + 2u, bitcast<u32>(vec2<f16>(belay_value.three.x, belay_value.three.y)));
  let belay_old_2 = belay_corrected_to_read_write(belay_index_1 * 8u + 3u);
  belay_store_to_read_write(belay_index_1 * 8u + 3u, bitcast<u32>(vec2<f16>(belay_value.three.z, bitcast<vec2<f16>>(belay_old_2).y)));
  belay_store_to_read_write(belay_index_1 * 8u + 4u, bitcast<u32>(vec2<f16>(belay_value.all[0].x, belay_value.all[0].y)));
  belay_store_to_read_write(belay_index_1 * 8u + 5u, bitcast<u32>(vec2<f16>(belay_value.all[0].z, belay_value.all[0].w)));
  belay_store_to_read_write(belay_index_1 * 8u + 6u, bitcast<u32>(vec2<f16>(belay_value.all[1].x, belay_value.all[1].y)));
  belay_store_to_read_write(belay_index_1 * 8u + 7u, bitcast<u32>(vec2<f16>(belay_value.all[1].z, belay_value.all[1].w)));
}

fn belay_load_7(belay_index_1: u32) -> f16 {
  let belay_at_1 = min(belay_index_1, belay_check_table[2].y / 32u - 1u);
  let belay_granule_1 = belay_peeked_to_read_write(belay_at_1 * 8u);
  return bitcast<vec2<f16>>(belay_granule_1).x;
}

fn belay_load_8(belay_index_1: u32) -> f16 {
  let belay_at_1 = min(belay_index_1, belay_check_table[2].y / 32u - 1u);
  let belay_granule_1 = belay_repaired_to_read_write(belay_at_1 * 8u);
  return bitcast<vec2<f16>>(belay_granule_1).x;
}

fn belay_store_2(belay_index_1: u32, belay_value: vec2<f16>) {
  if (belay_index_1 > belay_check_table[2].y / 32u - 1u) {
    return;
  }
  belay_store_to_read_write(belay_index_1 * 8u + 1u, bitcast<u32>(vec2<f16>(belay_value.x, belay_value.y)));
}
