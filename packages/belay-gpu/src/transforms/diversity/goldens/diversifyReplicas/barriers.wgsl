// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> tile: array<u32, 64>;

fn body(i: u32, x: u32) {
  tile[i] = x;
  for (var k = 0u; k < 2u; k++) {
    workgroupBarrier();
  }
  out[i] = tile[63u - i];
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
  body(i, out[i]);
}

// --- passes: inTwoPlaces, keepRoundings, diversify

fn belay_body_other_1(i: u32, x: u32, belay_zero: u32) {
  tile[i] = x;
  for (var k = 0u; 2u > k; k++) {
    _ = workgroupUniformLoad(&belay_meeting);
  }
  out[i] = tile[belay_subtract_u32(63u, i, belay_zero)];
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

var<workgroup> belay_meeting: u32;

fn belay_add_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return a - (belay_zero - b);
}

fn belay_subtract_u32(a: u32, b: u32, belay_zero: u32) -> u32 {
  return a + (~b + (1 + belay_zero));
}
