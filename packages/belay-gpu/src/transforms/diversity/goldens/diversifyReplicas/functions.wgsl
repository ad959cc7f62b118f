// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn body(i: u32, x: u32) {
  let s = i32(x);
  let v = clamp(vec2u(i, x), vec2u(1), vec2u(9)) << vec2u(3, i);
  let f = select(1.5, f32(i), i > x) + select(vec2f(0), vec2f(v), i > 2u).y;
  out[i] = min(i, x) + u32(max(s, -3)) + extractBits(x, i, 5) + insertBits(x, i, 3, 4) + u32(f);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keepRoundings, diversify

fn belay_body_other_1(i: u32, x: u32, belay_zero: u32) {
  let s = i32(x);
  let v = belay_shift_left_vec2_u32(belay_clamp_vec2_u32(vec2u(i, x), vec2u(1), vec2u(9), belay_zero), vec2u(3, i), belay_zero);
  let f = belay_add_f32(belay_select_f32(1.5, f32(i), x < i, belay_zero), belay_select_vec2_f32(vec2f(0), vec2f(v), vec2<bool>(2u < i), belay_zero).y, belay_zero);
  out[i] = belay_add_u32(belay_add_u32(belay_add_u32(belay_add_u32(belay_min_u32(i, x, belay_zero), u32(belay_max_i32(s, -3, belay_zero)), belay_zero), belay_extract_bits_u32(x, i, 5, belay_zero), belay_zero), belay_insert_bits_u32(x, i, 3, 4, belay_zero), belay_zero), u32(f), belay_zero);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) belay_in_workgroup_id: vec3u, @builtin(num_workgroups) belay_in_num_workgroups: vec3u) {
  let belay_zero = u32(belay_in_workgroup_id.x >= belay_in_num_workgroups.x);
  let belay_second_text = belay_in_workgroup_id.x == 0u;
  if (belay_second_text) {
    belay_body_other_1(i, out[i], belay_zero);
  } else {
    body(i, out[i], belay_zero);
  }
}

fn belay_clamp_u32(a: u32, low: u32, high: u32, belay_zero: u32) -> u32 {
  var result = a ^ belay_zero;
  if (low > result) {
    result = low;
  }
  if (result > high) {
    result = high;
  }
  return result;
}

fn belay_clamp_vec2_u32(a: vec2<u32>, low: vec2<u32>, high: vec2<u32>, belay_zero: u32) -> vec2<u32> {
  return vec2<u32>(belay_clamp_u32(a[0], low[0], high[0], belay_zero), belay_clamp_u32(a[1], low[1], high[1], belay_zero));
}

fn belay_shift_left_u32(a: u32, n: u32, belay_zero: u32) -> u32 {
  return a * bitcast<u32>(u32(bitcast<f32>(((n & 31u) + (127u | belay_zero)) * 8388608u)));
}

fn belay_shift_left_vec2_u32(a: vec2<u32>, n: vec2<u32>, belay_zero: u32) -> vec2<u32> {
  return vec2<u32>(belay_shift_left_u32(a[0], n[0], belay_zero), belay_shift_left_u32(a[1], n[1], belay_zero));
}

fn belay_select_f32(a: f32, b: f32, condition: bool, belay_zero: u32) -> f32 {
  let other = bitcast<u32>(a);
  return bitcast<f32>(other ^ ((other ^ bitcast<u32>(b)) & (belay_zero - u32(condition))));
}

fn belay_select_vec2_f32(a: vec2<f32>, b: vec2<f32>, condition: vec2<bool>, belay_zero: u32) -> vec2<f32> {
  return vec2<f32>(belay_select_f32(a[0], b[0], condition[0], belay_zero), belay_select_f32(a[1], b[1], condition[1], belay_zero));
}

fn belay_add_f32(a: f32, b: f32, belay_zero: u32) -> f32 {
  return fma(a, bitcast<f32>(0x3f800000u | belay_zero), b);
}

fn belay_min_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  if (b < (a ^ belay_zero)) {
    return b;
  }
  return a;
}

fn belay_max_i32(a: i32, b: i32, belay_zero: u32) -> i32 {
  if (b > (a ^ i32(belay_zero))) {
    return b;
  }
  return a;
}

fn belay_add_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return a - (belay_zero - b);
}

fn belay_extract_bits_u32(a: u32, first: u32, bits: u32, belay_zero: u32) -> u32 {
  let count = min(bits, 32u - min(first, 32u));
  if (count == belay_zero) {
    return belay_zero;
  }
  return (a << (32u - first - count)) >> (32u - count);
}

fn belay_insert_bits_u32(a: u32, b: u32, first: u32, bits: u32, belay_zero: u32) -> u32 {
  let count = min(bits, 32u - min(first, 32u));
  if (count == belay_zero) {
    return a;
  }
  let mask = u32((0xffffffffu >> (32u - count)) << first);
  return (a & ~mask) | ((b << first) & mask);
}
