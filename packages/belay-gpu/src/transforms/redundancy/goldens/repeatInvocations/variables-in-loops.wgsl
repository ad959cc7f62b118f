// --- input

@compute @workgroup_size(64)
fn main() {
  for (var i: i32; i < 3; i++) {
    var count: u32;
    count++;
  }
}

// --- passes: declareReport, repeat

fn belay_main_1() {
  for (var i: i32; i < 3; i++) {
    var count: u32;
    count++;
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  let belay_zero = u32(belay_in_workgroup_id.x >= belay_in_num_workgroups.x);
  for (var belay_pass = 0u; belay_pass < 2u + belay_zero; belay_pass++) {
    belay_replica = (1u - belay_pass) ^ belay_zero;
    belay_local = belay_in_local_invocation_index ^ belay_replica;
    loop {
      belay_main_1();
      break;
    }
    if (belay_pass == 0u) {
      belay_keep();
    }
  }
}

var<private> belay_lane: u32;
var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_finals, belay_keep, belay_conclude
