fn belay_main_1(l: vec3u, i: u32, g: vec3<u32>, w: vec3u, n: vec3u) {
  if (i > 3u) {
    return;
  }
}

@compute @workgroup_size(64u * 2u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3u, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(num_workgroups) belay_in_num_workgroups: vec3u) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  belay_main_1(vec3<u32>(belay_local, 0u, 0u), belay_local, belay_in_workgroup_id * vec3<u32>(64u, 1u, 1u) + vec3<u32>(belay_local, 0u, 0u), belay_in_workgroup_id, belay_in_num_workgroups);
}

var<private> belay_lane: u32;
