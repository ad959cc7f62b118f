// --- input

struct Shape {
  rows: u32,
  columns: u32,
  scale: vec3f,
  last: f32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
var<workgroup> tile: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  for (var row = 0u; row < shape.rows + sizes[3]; row++) {
    tile[i] = shape.scale.y * shape.last;
    workgroupBarrier();
  }
  out[i * shape.columns] = vec4f(tile[63u - i]);
}

// --- passes: resolvePointers, normalizeAccesses, expandSwizzles, declareReport, protectMemory

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  belay_kept_shape_0 = belay_uniform_shape_read_write(0u);
  belay_kept_shape_1 = belay_corrected_shape_read_write(1u);
  for (var row = 0u; row < belay_load_1() + belay_load_2(u32(3)); row++) {
    let belay_value_1: f32 = belay_load_3() * belay_load_4();
    tile[i] = belay_value_1;
    workgroupBarrier();
  }
  let belay_value_2 = i * belay_load_5();
  let belay_value_3: vec4<f32> = vec4f(tile[63u - i]);
  belay_store_1(u32(belay_value_2), belay_value_3);
}

@group(0) @binding(0) var<uniform> belay_granules_shape: array<vec4<u32>, 2>;

fn belay_uniform_shape_read_write(granule: u32) -> vec4<u32> {
  let data = belay_granules_shape[granule];
  let syndrome = belay_secded128_syndrome(data, belay_check_words_read_write[belay_check_table[0].x + granule]);
  if (syndrome != 0u) {
    belay_note(2u, 0u, granule, syndrome);
    belay_tell();
  }
  return data;
}

@group(1) @binding(2) var<uniform> belay_check_table: array<vec4<u32>, 3>;
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

@group(0) @binding(1) var<storage, read> belay_granules_sizes: array<vec4<u32>>;

fn belay_uniform_sizes_read_write(granule: u32) -> vec4<u32> {
  let data = belay_granules_sizes[granule];
  let syndrome = belay_secded128_syndrome(data, belay_check_words_read_write[belay_check_table[1].x + granule]);
  if (syndrome != 0u) {
    belay_note(2u, 1u, granule, syndrome);
    belay_tell();
  }
  return data;
}

fn belay_corrected_shape_read_write(granule: u32) -> vec4<u32> {
  let data = belay_granules_shape[granule];
  let syndrome = belay_secded128_syndrome(data, belay_check_words_read_write[belay_check_table[0].x + granule]);
  if (syndrome == 0u) {
    return data;
  }
  let right = belay_repaired_secded128(data, 0u, granule, syndrome);
  belay_tell();
  return right;
}

fn belay_repaired_secded128(data: vec4<u32>, binding: u32, granule: u32, syndrome: u32) -> vec4<u32> {
  let result = belay_secded128_correct(data, syndrome);
  belay_note(result.status, binding, granule, syndrome);
  return result.data;
}

@group(0) @binding(2) var<storage, read_write> belay_granules_out: array<vec4<u32>>;

fn belay_store_out_read_write(granule: u32, data: vec4<u32>) {
  belay_granules_out[granule] = data;
  belay_check_words_read_write[belay_check_table[2].x + granule] = belay_secded128_encode(data);
}

fn belay_load_1() -> u32 {
  let belay_granule_1 = belay_granules_shape[0u];
  return belay_granule_1.x;
}

fn belay_load_2(belay_index_1: u32) -> u32 {
  let belay_at_1 = min(belay_index_1, belay_check_table[1].y / 4u - 1u);
  let belay_byte_1 = belay_at_1 * 4u;
  let belay_granule_2 = belay_uniform_sizes_read_write(belay_byte_1 / 16u);
  return select(select(belay_granule_2.x, belay_granule_2.y, (belay_byte_1 & 4u) != 0u), select(belay_granule_2.z, belay_granule_2.w, (belay_byte_1 & 4u) != 0u), (belay_byte_1 & 8u) != 0u);
}

fn belay_load_3() -> f32 {
  let belay_granule_1 = belay_kept_shape_1;
  return bitcast<f32>(belay_granule_1.y);
}

fn belay_load_4() -> f32 {
  let belay_granule_1 = belay_kept_shape_1;
  return bitcast<f32>(belay_granule_1.w);
}

fn belay_load_5() -> u32 {
  let belay_granule_1 = belay_kept_shape_0;
  return belay_granule_1.y;
}

fn belay_store_1(belay_index_1: u32, belay_value: vec4<f32>) {
  if (belay_index_1 > belay_check_table[2].y / 16u - 1u) {
    return;
  }
  let belay_words_1 = bitcast<vec4<u32>>(belay_value);
  belay_store_out_read_write(belay_index_1, belay_words_1.xyzw);
}

// --- library: belay_kept_shape_0, belay_kept_shape_1
