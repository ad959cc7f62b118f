// --- input

@compute @workgroup_size(4, 3, 2)
fn main(@builtin(local_invocation_id) l: vec3u) {}

// --- passes: declareReport, replicateInvocations

@compute @workgroup_size(2u * 4u, 3u, 2u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let l: vec3u = vec3<u32>(belay_in_local_invocation_id.x >> 1u, belay_in_local_invocation_id.yz);
  }
}
