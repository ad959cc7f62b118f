// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn half(x: f32) -> f32 {
  return x * 0.5;
}

fn body(i: u32, x: u32) {
  var f = half(f32(x));
  f += sin(f * 3.0) - f / f32(i) + fract(f) % 2.0;
  out[i] = u32(max(f, -f)) * (i / 3u);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keep

fn half(x: f32, belay_zero: u32) -> f32 {
  return belay_kept_f32(x * 0.5, belay_zero);
}

fn body(i: u32, x: u32, belay_zero: u32) {
  var f = half(f32(x), belay_zero);
  f = belay_kept_f32(f + belay_kept_f32(belay_kept_f32(belay_kept_f32(sin(belay_kept_f32(f * 3.0, belay_zero)), belay_zero) - belay_kept_f32(belay_kept_f32(f, belay_zero) / belay_kept_f32(f32(i), belay_zero), belay_zero), belay_zero) + belay_kept_f32(belay_kept_f32(fract(f), belay_zero) % 2.0, belay_zero), belay_zero), belay_zero);
  out[i] = u32(max(f, -f)) * (i / 3u);
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

fn belay_kept_f32(x: f32, belay_zero: u32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) | belay_zero);
}
