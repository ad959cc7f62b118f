// --- input

fn helper() {}

@compute @workgroup_size(4)
fn main_first() {
  helper();
}

@compute @workgroup_size(2, 2)
fn main_second(@builtin(local_invocation_id) l: vec3u) {
  helper();
}

@compute @workgroup_size(8)
fn left_alone() {
  helper();
}

// --- passes: declareReport, replicateInvocations

@compute @workgroup_size(2u * 4u, 1u, 1u)
fn main_first(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    helper();
  }
}

@compute @workgroup_size(2u * 2u, 2u, 1u)
fn main_second(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let l: vec3u = vec3<u32>(belay_in_local_invocation_id.x >> 1u, belay_in_local_invocation_id.yz);
    helper();
  }
}
