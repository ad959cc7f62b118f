// --- input

@compute @workgroup_size(96)
fn main(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3<u32>) {}

// --- passes: declareReport, enableSubgroups, replicateInvocations

@compute @workgroup_size(96u, 1u, 2u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_id.z;
  belay_local = belay_in_local_invocation_id.x;
  {
    let l: vec3u = vec3<u32>(belay_in_local_invocation_id.xy, 0u);
    let i: u32 = belay_local;
    let g: vec3<u32> = vec3<u32>(belay_in_global_invocation_id.xy, belay_in_workgroup_id.z);
  }
}
