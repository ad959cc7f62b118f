// --- input

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3<u32>, @builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u) {
  if (i > 3u) {
    return;
  }
}

// --- passes: declareReport, replicateInvocations

fn belay_main_1(l: vec3u, i: u32, g: vec3<u32>, w: vec3u, n: vec3u) {
  if (i > 3u) {
    return;
  }
}

@compute @workgroup_size(2u * 64u, 1u, 1u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3u, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3u) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  loop {
    belay_main_1(vec3<u32>(belay_in_local_invocation_id.x >> 1u, belay_in_local_invocation_id.yz), belay_local, vec3<u32>(belay_in_global_invocation_id.x >> 1u, belay_in_global_invocation_id.yz), belay_in_workgroup_id, belay_in_num_workgroups);
    break;
  }
}
