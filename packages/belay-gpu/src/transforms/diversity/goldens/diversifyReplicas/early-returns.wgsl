// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn least(i: u32) -> u32 {
  if (i == 0u) {
    return 1u;
  }
  if (i == 1u) {
    return 3u;
  }
  return i;
}

fn body(i: u32, x: u32) {
  if (i > 8u) {
    out[i] = 7u;
    return;
  }
  for (var k = 0u; k < x; k++) {
    if (k == 5u) {
      return;
    }
    out[i] += least(k);
  }
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keepRoundings, diversify

fn belay_least_other_1(i: u32, belay_zero: u32) -> u32 {
  if (!(i != 0u)) {
    return 1u;
  } else {
    if (!(i != 1u)) {
      return 3u;
    } else {
      return i;
    }
  }
}

fn belay_body_other_1(i: u32, x: u32, belay_zero: u32) {
  if (8u < i) {
    out[i] = 7u;
    return;
  } else {
    for (var k = 0u; x > k; k++) {
      if (!(k != 5u)) {
        return;
      }
      out[i] = belay_add_u32(out[i], belay_least_other_1(k, belay_zero), belay_zero);
    }
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
