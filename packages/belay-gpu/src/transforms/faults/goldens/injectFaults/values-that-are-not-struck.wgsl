// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> v: array<vec3f>;
@group(0) @binding(2) var<storage, read_write> n: atomic<i32>;
@group(0) @binding(3) var<uniform> size: u32;

struct S {
  x: u32,
}

fn f(i: u32) {
  let one = 1u;
  var two = vec2f(1, 2);
  var none: u32;
  let old = atomicAdd(&n, 3);
  let h = f16(i);
  let b = i > 3u;
  let s = S(i);
  let xs = array(i, i);
  var m = mat2x2f(v[0].xy, v[1].xy);
  var local: u32;
  let p = &local;
  a[0] = 3u;
  none = 4u;
  _ = i * 2u;
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, inject

fn f(i: u32) {
  let one = 1u;
  var two = vec2f(1, 2);
  var none: u32;
  let old = atomicAdd(&n, 3);
  let h = f16(i);
  let b = i > 3u;
  let s = S(i);
  let xs = array(i, i);
  var m = mat2x2f(belay_load_1().xy, belay_load_2().xy);
  var local: u32;
  let p = &local;
  let belay_value_1: u32 = 3u;
  if (!belay_is_hit(3u)) {
    a[0] = belay_value_1;
  }
  if (!belay_is_hit(4u)) {
    none = 4u;
  }
  _ = i * 2u;
}

fn belay_load_1() -> vec3<f32> {
  return belay_strike_load_vec3f32(1u, 0u / 128u, v[0]);
}

fn belay_load_2() -> vec3<f32> {
  return belay_strike_load_vec3f32(2u, 16u / 128u, v[1]);
}

// --- library: belay_armed, belay_occurrence, belay_struck_first, belay_struck_others, belay_struck_line, belay_strikes, belay_fuel, belay_struck_by_line, belay_struck_clear, belay_struck_mask, belay_struck_component, belay_struck, belay_aim, belay_is_hit, belay_is_hit_in, belay_is_spent, belay_settle, belay_strike_load_vec3f32
