@compute @workgroup_size(4)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3u, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3u) {
  belay_local = belay_in_local_invocation_index;
  belay_replica = belay_doubling;
  belay_pair = belay_in_workgroup_id.x + belay_in_num_workgroups.x * (belay_in_workgroup_id.y + belay_in_num_workgroups.y * belay_in_workgroup_id.z);
  belay_workgroup = belay_in_workgroup_id;
  {
    let w: vec3u = belay_in_workgroup_id;
    let id: vec3u = belay_in_global_invocation_id;
    meet(w.x);
  }
}

override belay_doubling: u32 = 0u;

var<private> belay_pair: u32;
