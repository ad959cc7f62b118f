// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn body(i: u32, x: u32) {
  let v = vec3f(f32(i), 1, 2);
  let m = mat2x3h() * f16(x);
  out[i] = u32(dot(v * 2.0, normalize(v))) + u32((m * vec2h(f16(i), 1h)).x);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keep

fn body(i: u32, x: u32, belay_zero: u32) {
  let v = vec3f(f32(i), 1, 2);
  let m = belay_kept_mat2x3_f16(mat2x3h() * f16(x), belay_zero);
  out[i] = u32(belay_kept_f32(dot(belay_kept_vec3_f32(v * 2.0, belay_zero), belay_kept_vec3_f32(normalize(belay_kept_vec3_f32(v, belay_zero)), belay_zero)), belay_zero)) + u32(belay_kept_vec3_f16(m * vec2h(f16(i), 1h), belay_zero).x);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) belay_in_workgroup_id: vec3u, @builtin(num_workgroups) belay_in_num_workgroups: vec3u) {
  let belay_zero = u32(belay_in_workgroup_id.x >= belay_in_num_workgroups.x);
  let belay_second_text = belay_in_workgroup_id.x == 0u;
  if (belay_second_text) {
    body(i, out[i], belay_zero);
  } else {
    body(i, out[i], belay_zero);
  }
}

fn belay_kept_f16(x: f16, belay_zero: u32) -> f16 {
  return bitcast<vec2<f16>>(bitcast<u32>(vec2<f16>(x, x)) | belay_zero).x;
}

fn belay_kept_vec3_f16(x: vec3<f16>, belay_zero: u32) -> vec3<f16> {
  return vec3<f16>(belay_kept_f16(x[0], belay_zero), belay_kept_f16(x[1], belay_zero), belay_kept_f16(x[2], belay_zero));
}

fn belay_kept_mat2x3_f16(x: mat2x3<f16>, belay_zero: u32) -> mat2x3<f16> {
  return mat2x3<f16>(belay_kept_vec3_f16(x[0], belay_zero), belay_kept_vec3_f16(x[1], belay_zero));
}

fn belay_kept_f32(x: f32, belay_zero: u32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) | belay_zero);
}

fn belay_kept_vec3_f32(x: vec3<f32>, belay_zero: u32) -> vec3<f32> {
  return vec3<f32>(belay_kept_f32(x[0], belay_zero), belay_kept_f32(x[1], belay_zero), belay_kept_f32(x[2], belay_zero));
}
