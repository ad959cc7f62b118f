// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn body(i: u32, x: u32) {
  var v = vec3f(f32(i), 1, 2) * f32(x);
  v -= v.zyx / 3.0;
  out[i] = u32(v.x + v.y * sqrt(v.z) - 1.0);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keepRoundings, diversify

fn belay_body_other_1(i: u32, x: u32, belay_zero: u32) {
  var v = belay_multiply_vec3_f32(vec3f(f32(i), 1, 2), vec3<f32>(f32(x)), belay_zero);
  v = belay_subtract_vec3_f32(v, belay_kept_vec3_f32(belay_kept_vec3_f32(v.zyx, belay_zero) / 3.0, belay_zero), belay_zero);
  out[i] = u32(belay_subtract_f32(belay_add_f32(v.x, belay_multiply_f32(v.y, belay_kept_f32(sqrt(belay_kept_f32(v.z, belay_zero)), belay_zero), belay_zero), belay_zero), 1.0, belay_zero));
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

fn belay_multiply_f32(a: f32, b: f32, belay_zero: u32) -> f32 {
  return fma(a, b, bitcast<f32>(0x80000000u | belay_zero));
}

fn belay_multiply_vec3_f32(a: vec3<f32>, b: vec3<f32>, belay_zero: u32) -> vec3<f32> {
  return vec3<f32>(belay_multiply_f32(a[0], b[0], belay_zero), belay_multiply_f32(a[1], b[1], belay_zero), belay_multiply_f32(a[2], b[2], belay_zero));
}

fn belay_subtract_f32(a: f32, b: f32, belay_zero: u32) -> f32 {
  return fma(b, bitcast<f32>(0xbf800000u | belay_zero), a);
}

fn belay_subtract_vec3_f32(a: vec3<f32>, b: vec3<f32>, belay_zero: u32) -> vec3<f32> {
  return vec3<f32>(belay_subtract_f32(a[0], b[0], belay_zero), belay_subtract_f32(a[1], b[1], belay_zero), belay_subtract_f32(a[2], b[2], belay_zero));
}

fn belay_add_f32(a: f32, b: f32, belay_zero: u32) -> f32 {
  return fma(a, bitcast<f32>(0x3f800000u | belay_zero), b);
}
