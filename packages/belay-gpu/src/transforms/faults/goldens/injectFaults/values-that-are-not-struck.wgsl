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
