@compute @workgroup_size(4)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_local = belay_in_local_invocation_index;
  belay_replica = belay_doubling;
  belay_pair = w.x + belay_in_num_workgroups.x * (w.y + belay_in_num_workgroups.y * w.z);
  belay_workgroup = w;
  {
    meet(w.x);
  }
}

override belay_doubling: u32 = 0u;
