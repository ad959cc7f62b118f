// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> v: array<vec3f>;
@group(0) @binding(2) var<storage, read_write> n: atomic<i32>;
@group(0) @binding(3) var<uniform> size: u32;

fn g() -> i32 {
  let x = atomicLoad(&n);
  return x;
}

fn f(i: u32, x: f32) {
  let y = x * 2.0;
  var z: vec3f = vec3f(y) + v[i];
  z.x = y + 1.0;
  z *= y;
  var k = g();
  k += 2;
  a[i] = a[i + 1u] + u32(k);
  v[i].zx = z.xy;
  v[i] += z;
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, inject

fn f(i: u32, x: f32) {
  let y = belay_strike_f32(1u, x * 2.0);
  var z: vec3f = belay_strike_vec3f32(4u, vec3f(y) + belay_load_1(i));
  if (!belay_is_hit(6u)) {
    z.x = belay_strike_f32(5u, y + 1.0);
  }
  if (!belay_is_hit(8u)) {
    z = belay_strike_vec3f32(7u, z * y);
  }
  var k = belay_strike_i32(9u, g());
  if (!belay_is_hit(11u)) {
    k = belay_strike_i32(10u, k + 2);
  }
  let belay_value_1: u32 = belay_strike_u32(14u, belay_load_2(i + 1u) + u32(k));
  if (!belay_is_hit(16u)) {
    let belay_index_5 = belay_strike_u32(15u, i);
    a[belay_index_5] = belay_value_1;
  }
  let belay_value_2: vec2<f32> = belay_strike_vec2f32(17u, z.xy);
  let belay_value_4 = belay_strike_f32(18u, belay_value_2.x);
  if (!belay_is_hit(20u)) {
    let belay_index_6 = belay_strike_u32(19u, i);
    v[belay_index_6].z = belay_value_4;
  }
  let belay_value_5 = belay_strike_f32(21u, belay_value_2.y);
  if (!belay_is_hit(23u)) {
    let belay_index_7 = belay_strike_u32(22u, i);
    v[belay_index_7].x = belay_value_5;
  }
  let belay_value_3: vec3<f32> = belay_strike_vec3f32(26u, belay_load_3(i) + z);
  if (!belay_is_hit(28u)) {
    let belay_index_10 = belay_strike_u32(27u, i);
    v[belay_index_10] = belay_value_3;
  }
}

fn belay_load_1(belay_index_1: u32) -> vec3<f32> {
  let belay_index_2 = belay_strike_u32(2u, belay_index_1);
  return belay_strike_load_vec3f32(3u, u32(belay_index_2) * 16u / 128u, v[belay_index_2]);
}

fn belay_load_2(belay_index_3: u32) -> u32 {
  let belay_index_4 = belay_strike_u32(12u, belay_index_3);
  return belay_strike_load_u32(13u, u32(belay_index_4) * 4u / 128u, a[belay_index_4]);
}

fn belay_load_3(belay_index_8: u32) -> vec3<f32> {
  let belay_index_9 = belay_strike_u32(24u, belay_index_8);
  return belay_strike_load_vec3f32(25u, u32(belay_index_9) * 16u / 128u, v[belay_index_9]);
}

// --- library: belay_armed, belay_occurrence, belay_struck_first, belay_struck_others, belay_struck_line, belay_strikes, belay_fuel, belay_struck_by_line, belay_struck_clear, belay_struck_mask, belay_struck_component, belay_struck, belay_aim, belay_is_hit, belay_is_hit_in, belay_is_spent, belay_settle, belay_strike_f32, belay_strike_u32, belay_strike_load_vec3f32, belay_strike_vec3f32, belay_strike_i32, belay_strike_load_u32, belay_strike_vec2f32
