// --- input

struct Limits {
  low: u32,
  high: array<vec2f, 3>,
}

var<workgroup> limits: Limits;
var<workgroup> go: bool;

override n = 4;

var<workgroup> sizes: array<vec3u, n>;

fn f(i: u32) -> u32 {
  if (workgroupUniformLoad(&go)) {
    workgroupBarrier();
  }
  let all = workgroupUniformLoad(&limits);
  let size = workgroupUniformLoad(&sizes[all.low]);
  return size.x + u32(workgroupUniformLoad(&limits.high[1]).y);
}

// --- passes: normalizeAccesses, declareReport, replicateWorkgroupMemory

struct belay_Copy_1 {
  value: Limits,
}

var<workgroup> limits: array<belay_Copy_1, 2>;

struct belay_Copy_2 {
  value: bool,
}

var<workgroup> go: array<belay_Copy_2, 2>;
var<workgroup> sizes: array<array<vec3<u32>, 2>, n>;

fn f(i: u32) -> u32 {
  let belay_copy_1 = workgroupUniformLoad(&go[0u].value);
  let belay_copy_2 = workgroupUniformLoad(&go[1u].value);
  if (any(u32(belay_copy_1) != u32(belay_copy_2))) {
    belay_record(1u, 1u, 0u, vec4<u32>(select(u32(belay_copy_2), u32(belay_copy_1), belay_replica == 0u), 0u, 0u, 0u));
  }
  let belay_value_1 = belay_copy_1;
  if (belay_value_1) {
    workgroupBarrier();
  }
  let belay_copy_3 = workgroupUniformLoad(&limits[0u].value);
  let belay_copy_4 = workgroupUniformLoad(&limits[1u].value);
  if (any(belay_hash_1(belay_copy_3) != belay_hash_1(belay_copy_4))) {
    belay_record(2u, 1u, 0u, vec4<u32>(select(belay_hash_1(belay_copy_4), belay_hash_1(belay_copy_3), belay_replica == 0u), 0u, 0u, 0u));
  }
  let all = belay_copy_3;
  let belay_value_2 = all.low;
  let belay_copy_5 = workgroupUniformLoad(&sizes[belay_value_2][0u]);
  let belay_copy_6 = workgroupUniformLoad(&sizes[belay_value_2][1u]);
  if (any(bitcast<vec3<u32>>(belay_copy_5) != bitcast<vec3<u32>>(belay_copy_6))) {
    belay_record(3u, 1u, 0u, vec4<u32>(select(bitcast<vec3<u32>>(belay_copy_6), bitcast<vec3<u32>>(belay_copy_5), belay_replica == 0u), 0u));
  }
  let size = belay_copy_5;
  let belay_value_3 = size.x;
  let belay_copy_7 = workgroupUniformLoad(&limits[0u].value.high[1]);
  let belay_copy_8 = workgroupUniformLoad(&limits[1u].value.high[1]);
  if (any(bitcast<vec2<u32>>(belay_copy_7) != bitcast<vec2<u32>>(belay_copy_8))) {
    belay_record(4u, 1u, 0u, vec4<u32>(select(bitcast<vec2<u32>>(belay_copy_8), bitcast<vec2<u32>>(belay_copy_7), belay_replica == 0u), 0u, 0u));
  }
  let belay_value_4 = belay_copy_7;
  return belay_value_3 + u32(belay_value_4.y);
}

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

// --- library: belay_fold, belay_fold2, belay_hash_2, belay_hash_1
