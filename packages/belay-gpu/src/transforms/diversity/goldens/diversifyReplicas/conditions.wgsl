// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<private> count: u32;

fn next() -> u32 {
  count++;
  return count;
}

fn body(i: u32, x: u32) {
  if (i < x && (f32(i) <= 2.5 || i != 3u)) {
    out[i] = 1u;
  }
  if (next() < next() || next() == 4u) {
    out[i] += 1u;
  }
  if (f32(x) == 2.0) {
    out[i]--;
  }
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keepRoundings, diversify

fn belay_next_other_1(belay_zero: u32) -> u32 {
  count = belay_add_u32(count, 1, belay_zero);
  return count;
}

fn belay_body_other_1(i: u32, x: u32, belay_zero: u32) {
  if (!(!(x > i) || (!(2.5 >= f32(i)) && i == 3u))) {
    out[i] = 1u;
  }
  if (!(belay_next_other_1(belay_zero) >= belay_next_other_1(belay_zero) && belay_next_other_1(belay_zero) != 4u)) {
    out[i] = belay_add_u32(out[i], 1u, belay_zero);
  }
  if (2.0 == f32(x)) {
    out[i] = belay_subtract_u32(out[i], 1, belay_zero);
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

fn belay_subtract_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return a + (~b + (1 + belay_zero));
}
