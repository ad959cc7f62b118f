// --- input

struct Part {
  at: vec3f,
  flags: array<vec2<bool>, 40>,
  on: bool,
}

var<workgroup> one: bool;
var<workgroup> three: vec3<bool>;
var<workgroup> m: mat4x3f;
var<workgroup> tile: array<array<f32, 16>, 17>;
var<workgroup> part: Part;

fn f(i: u32) {
  one = i > 3u && three.y;
  three = vec3(one);
  three[i % 3u] = tile[i][i + 1u] > part.at.x;
  m[i % 4u].y = tile[u32(part.at.z)][2];
  part.flags[i].y = one;
  part = Part(m[1], part.flags, true);
}

// --- passes: normalizeAccesses, declareReport, replicateWorkgroupMemory

struct belay_Copy_1 {
  value: bool,
}

var<workgroup> one: array<belay_Copy_1, 2>;

struct belay_Copy_2 {
  value: vec3<bool>,
}

var<workgroup> three: array<belay_Copy_2, 2>;

struct belay_Copy_3 {
  value: mat4x3<f32>,
}

var<workgroup> m: array<belay_Copy_3, 2>;
var<workgroup> tile: array<array<array<f32, 2>, 16>, 17>;

struct belay_Copy_4 {
  value: Part,
  skew: array<u32, 24>,
}

var<workgroup> part: array<belay_Copy_4, 2>;

fn f(i: u32) {
  let belay_value_1: bool = i > 3u && three[belay_replica].value.y;
  one[belay_replica].value = belay_value_1;
  let belay_value_2: vec3<bool> = vec3(one[belay_replica].value);
  three[belay_replica].value = belay_value_2;
  let belay_value_3 = i % 3u;
  let belay_value_4: bool = tile[i][i + 1u][belay_replica] > part[belay_replica].value.at.x;
  three[belay_replica].value[belay_value_3] = belay_value_4;
  let belay_value_5 = i % 4u;
  let belay_value_6: f32 = tile[u32(part[belay_replica].value.at.z)][2][belay_replica];
  m[belay_replica].value[belay_value_5].y = belay_value_6;
  let belay_value_7: bool = one[belay_replica].value;
  part[belay_replica].value.flags[i].y = belay_value_7;
  let belay_value_8: Part = Part(m[belay_replica].value[1], part[belay_replica].value.flags, true);
  part[belay_replica].value = belay_value_8;
}
