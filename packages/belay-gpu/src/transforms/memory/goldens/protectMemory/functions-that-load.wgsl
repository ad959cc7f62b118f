// --- input

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> tile: array<f32, 128>;

fn load(i: u32) -> f32 {
  if (i >= 100u) {
    return 0.0;
  }
  return a[i];
}

fn kept(i: u32) -> f32 {
  return tile[i] + a[i];
}

fn some(count: u32) -> f32 {
  var sum = 0.0;
  for (var k = 0u; k < count; k++) {
    sum += a[k];
  }
  return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  tile[i] = load(i);
  tile[i + 64u] = load(i + 64u);
  out[i] = kept(i) + some(i);
}

// --- passes: resolvePointers, normalizeAccesses, expandSwizzles, declareReport, protectMemory

fn some(count: u32) -> f32 {
  var sum = 0.0;
  for (var k = 0u; k < count; k++) {
    sum += belay_load_1(u32(k));
  }
  if (belay_bad != 0u) {
    belay_bad = 0u;
    sum = 0.0;
    for (var k = 0u; k < count; k++) {
      sum += belay_load_2(u32(k));
    }
    belay_tell();
  }
  return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  var belay_loaded_3 = belay_peeked_load(i);
  var belay_loaded_4 = belay_peeked_load(i + 64u);
  if (belay_bad != 0u) {
    belay_bad = 0u;
    belay_loaded_3 = belay_repaired_load(i);
    belay_loaded_4 = belay_repaired_load(i + 64u);
    belay_tell();
  }
  let belay_value_1: f32 = belay_loaded_3;
  tile[i] = belay_value_1;
  let belay_value_2 = i + 64u;
  let belay_value_3: f32 = belay_loaded_4;
  tile[belay_value_2] = belay_value_3;
  var belay_loaded_5 = belay_peeked_kept(i);
  if (belay_bad != 0u) {
    belay_bad = 0u;
    belay_loaded_5 = belay_repaired_kept(i);
    belay_tell();
  }
  let belay_value_4: f32 = belay_loaded_5 + some(i);
  belay_store_1(u32(i), belay_value_4);
}

fn belay_peeked_load(i: u32) -> f32 {
  if (i >= 100u) {
    return 0.0;
  }
  return belay_load_1(u32(i));
}

fn belay_repaired_load(i: u32) -> f32 {
  if (i >= 100u) {
    return 0.0;
  }
  return belay_load_2(u32(i));
}

fn belay_peeked_kept(i: u32) -> f32 {
  return tile[i] + belay_load_1(u32(i));
}

fn belay_repaired_kept(i: u32) -> f32 {
  return tile[i] + belay_load_2(u32(i));
}

@group(1) @binding(2) var<uniform> belay_check_table: array<vec4<u32>, 2>;
@group(0) @binding(0) var<storage, read> belay_granules_a: array<u32>;

fn belay_peeked_a_read_write(granule: u32) -> u32 {
  let data = belay_granules_a[granule];
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

fn belay_repaired_a_read_write(granule: u32) -> u32 {
  let data = belay_granules_a[granule];
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

@group(0) @binding(1) var<storage, read_write> belay_granules_out: array<u32>;

fn belay_store_out_read_write(granule: u32, data: u32) {
  belay_granules_out[granule] = data;
  belay_check_words_read_write[belay_check_table[1].x + granule] = belay_secded32_encode(data);
}

fn belay_load_1(belay_index_1: u32) -> f32 {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 4u - 1u);
  let belay_granule_1 = belay_peeked_a_read_write(belay_at_1);
  return bitcast<f32>(belay_granule_1);
}

fn belay_load_2(belay_index_1: u32) -> f32 {
  let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 4u - 1u);
  let belay_granule_1 = belay_repaired_a_read_write(belay_at_1);
  return bitcast<f32>(belay_granule_1);
}

fn belay_store_1(belay_index_1: u32, belay_value: f32) {
  if (belay_index_1 > belay_check_table[1].y / 4u - 1u) {
    return;
  }
  belay_store_out_read_write(belay_index_1, bitcast<u32>(belay_value));
}
