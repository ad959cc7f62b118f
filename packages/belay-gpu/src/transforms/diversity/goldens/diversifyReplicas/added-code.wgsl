// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn body(i: u32, x: u32) {
  let v = x + 1u;
  out[i] = v * 2u;
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, diversifyReplicas, keepRoundings, diversify

fn belay_body_other_1(i: u32, x: u32, belay_zero: u32) {
  let v = belay_add_u32(x, 1u, belay_zero);
  belay_signature = belay_signature * 3u + v;
  if (belay_signature == 2u) {
    out[i] = v << (1u | belay_zero);
  }
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
