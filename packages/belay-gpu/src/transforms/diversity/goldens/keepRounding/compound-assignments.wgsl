// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<private> count: u32;

fn next() -> u32 {
  count++;
  return count % 4u;
}

fn body(i: u32, x: u32) {
  var v = vec4f(f32(x));
  v *= 2.0;
  v[next()] /= f32(i);
  v[1] += 1.5;
  for (var f = 1.0; f < 9.0; f *= 1.5) {
    v.x += f;
  }
  out[i] = u32(v.x);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keep

fn next(belay_zero: u32) -> u32 {
  count++;
  return count % 4u;
}

fn body(i: u32, x: u32, belay_zero: u32) {
  var v = vec4f(f32(x));
  v = belay_kept_vec4_f32(v * 2.0, belay_zero);
  {
    let belay_index_1 = next(belay_zero);
    v[belay_index_1] = belay_kept_f32(belay_kept_f32(v[belay_index_1], belay_zero) / belay_kept_f32(f32(i), belay_zero), belay_zero);
  }
  v[1] = belay_kept_f32(v[1] + 1.5, belay_zero);
  for (var f = 1.0; f < 9.0; f = belay_kept_f32(f * 1.5, belay_zero)) {
    v.x = belay_kept_f32(v.x + f, belay_zero);
  }
  out[i] = u32(v.x);
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

fn belay_kept_vec4_f32(x: vec4<f32>, belay_zero: u32) -> vec4<f32> {
  return vec4<f32>(belay_kept_f32(x[0], belay_zero), belay_kept_f32(x[1], belay_zero), belay_kept_f32(x[2], belay_zero), belay_kept_f32(x[3], belay_zero));
}
