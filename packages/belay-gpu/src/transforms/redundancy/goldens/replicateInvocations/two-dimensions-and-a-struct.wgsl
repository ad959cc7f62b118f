// --- input

alias Id = vec3u;

struct In {
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) local: Id,
}

const height = 4;

@workgroup_size(8i, height) @compute
fn main(in: In, @builtin(global_invocation_id) id: Id) {}

// --- passes: declareReport, replicateInvocations

@workgroup_size(2u * 8u, 4u, 1u) @compute
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3u) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let in: In = In(belay_in_num_workgroups, vec3<u32>(belay_in_local_invocation_id.x >> 1u, belay_in_local_invocation_id.yz));
    let id: Id = vec3<u32>(belay_in_global_invocation_id.x >> 1u, belay_in_global_invocation_id.yz);
  }
}
