fn belay_main_1(l: vec3u) {}

@compute @workgroup_size(4u * 3u * 2u * 2u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  belay_main_1(vec3<u32>(belay_local % 4u, belay_local / 4u % 3u, belay_local / (4u * 3u)));
}

var<private> belay_lane: u32;
