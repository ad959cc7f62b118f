fn belay_main_1(in: In, id: Id) {}

@workgroup_size(8u * 4u * 2u) @compute
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(num_workgroups) belay_in_num_workgroups: vec3u) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  belay_main_1(In(belay_in_num_workgroups, vec3<u32>(belay_local % 8u, belay_local / 8u, 0u)), belay_in_workgroup_id * vec3<u32>(8u, 4u, 1u) + vec3<u32>(belay_local % 8u, belay_local / 8u, 0u));
}

var<private> belay_lane: u32;
