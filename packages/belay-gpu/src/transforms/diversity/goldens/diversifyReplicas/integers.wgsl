// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn body(i: u32, x: u32) {
  let s = i32(x);
  let sum = i + x - i * x / 3u % (x | 1u);
  let bits = ~(i & x) ^ (i << (x >> 3u));
  let powers = i * 8u + 4u * x / 16u + x % 32u;
  out[i] = sum + bits + powers + u32(-s / 5 % s + s * 4 + (s >> i));
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keepRoundings, diversify

fn belay_body_other_1(i: u32, x: u32, belay_zero: u32) {
  let s = i32(x);
  let sum = belay_subtract_u32(belay_add_u32(i, x, belay_zero), belay_remainder_u32(belay_divide_u32(belay_multiply_u32(i, x, belay_zero), 3u, belay_zero), belay_or_u32(x, 1u, belay_zero), belay_zero), belay_zero);
  let bits = belay_xor_u32(belay_complement_u32(belay_and_u32(i, x, belay_zero), belay_zero), belay_shift_left_u32(i, belay_shift_right_u32(x, 3u, belay_zero), belay_zero), belay_zero);
  let powers = belay_add_u32(belay_add_u32(i << (3u | belay_zero), belay_multiply_u32(4u, x, belay_zero) >> (4u | belay_zero), belay_zero), x & (31u | belay_zero), belay_zero);
  out[i] = belay_add_u32(belay_add_u32(belay_add_u32(sum, bits, belay_zero), powers, belay_zero), u32(belay_add_i32(belay_add_i32(belay_remainder_i32(belay_divide_i32(belay_negate_i32(s, belay_zero), 5, belay_zero), s, belay_zero), s << (2u | belay_zero), belay_zero), belay_shift_right_i32(s, i, belay_zero), belay_zero)), belay_zero);
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

fn belay_add_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return a - (belay_zero - b);
}

fn belay_multiply_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return belay_zero - a * (belay_zero - b);
}

fn belay_divide_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return (a - a % (b | belay_zero)) / b;
}

fn belay_or_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return ~(~a & (~b ^ belay_zero));
}

fn belay_remainder_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  if (b == belay_zero) {
    return belay_zero;
  }
  return a - a / b * b;
}

fn belay_subtract_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return a + (~b + (1 + belay_zero));
}

fn belay_and_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return ~(~a | (~b ^ belay_zero));
}

fn belay_complement_u32(a: u32, belay_zero: u32) -> u32 {
  return belay_zero - 1 - a;
}

fn belay_shift_right_u32(a: u32, n: u32, belay_zero: u32) -> u32 {
  return a / u32(bitcast<f32>(((n & 31u) + (127u | belay_zero)) * 8388608u));
}

fn belay_shift_left_u32(a: u32, n: u32, belay_zero: u32) -> u32 {
  return a * bitcast<u32>(u32(bitcast<f32>(((n & 31u) + (127u | belay_zero)) * 8388608u)));
}

fn belay_xor_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return ((a | b) ^ belay_zero) - (a & b);
}

fn belay_negate_i32(a: i32, belay_zero: u32) -> i32 {
  return ~a + (1 + i32(belay_zero));
}

fn belay_divide_i32(a: i32, b: i32, belay_zero: u32) -> i32 {
  let quotient = bitcast<i32>(bitcast<u32>(abs(a)) / bitcast<u32>(abs(b)));
  if ((a ^ b) < i32(belay_zero)) {
    return -quotient;
  }
  return quotient;
}

fn belay_remainder_i32(a: i32, b: i32, belay_zero: u32) -> i32 {
  if (b == i32(belay_zero)) {
    return i32(belay_zero);
  }
  return a - a / b * b;
}

fn belay_add_i32(a: i32, b: i32, belay_zero: u32) -> i32 {
  return a - (i32(belay_zero) - b);
}

fn belay_shift_right_i32(a: i32, n: u32, belay_zero: u32) -> i32 {
  let sign = i32(belay_zero) - i32(a < 0);
  return bitcast<i32>(bitcast<u32>(a ^ sign) / u32(bitcast<f32>(((n & 31u) + (127u | belay_zero)) * 8388608u))) ^ sign;
}
