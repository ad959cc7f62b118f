// --- input

requires linear_indexing;

@compute @workgroup_size(4, 4)
fn main(@builtin(global_invocation_index) g: u32, @builtin(workgroup_index) w: u32) {}

// --- passes: declareReport, replicateInvocations

@compute @workgroup_size(2u * 4u, 4u, 1u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let g: u32 = vec3<u32>(belay_in_global_invocation_id.x >> 1u, belay_in_global_invocation_id.yz).x + belay_in_num_workgroups.x * 4u * (vec3<u32>(belay_in_global_invocation_id.x >> 1u, belay_in_global_invocation_id.yz).y + belay_in_num_workgroups.y * 4u * vec3<u32>(belay_in_global_invocation_id.x >> 1u, belay_in_global_invocation_id.yz).z);
  }
}
