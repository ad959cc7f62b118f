fn belay_main_1(g: u32, w: u32) {}

@compute @workgroup_size(4u * 4u * 2u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(workgroup_index) belay_in_workgroup_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  belay_main_1((belay_in_workgroup_id * vec3<u32>(4u, 4u, 1u) + vec3<u32>(belay_local % 4u, belay_local / 4u, 0u)).x + belay_in_num_workgroups.x * 4u * ((belay_in_workgroup_id * vec3<u32>(4u, 4u, 1u) + vec3<u32>(belay_local % 4u, belay_local / 4u, 0u)).y + belay_in_num_workgroups.y * 4u * (belay_in_workgroup_id * vec3<u32>(4u, 4u, 1u) + vec3<u32>(belay_local % 4u, belay_local / 4u, 0u)).z), belay_in_workgroup_index);
}

var<private> belay_lane: u32;
