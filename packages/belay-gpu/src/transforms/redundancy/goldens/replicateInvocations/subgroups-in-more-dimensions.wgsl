// --- input

override width: i32;
override depth = 1;

@compute @workgroup_size(8, 4)
fn main(@builtin(local_invocation_id) l: vec3u, @builtin(global_invocation_id) g: vec3u) {}

@compute @workgroup_size(width, 2, 3)
fn main_deep(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32) {}

@compute @workgroup_size(1, 1, 33)
fn main_deeper(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32) {}

@compute @workgroup_size(1, 2, depth)
fn main_unknown(@builtin(global_invocation_id) g: vec3u) {}

// --- passes: declareReport, enableSubgroups, replicateInvocations

@compute @workgroup_size(8u, 4u, 2u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_id.z;
  belay_local = belay_in_local_invocation_index % (8u * 4u);
  {
    let l: vec3u = vec3<u32>(belay_in_local_invocation_id.xy, 0u);
    let g: vec3u = vec3<u32>(belay_in_global_invocation_id.xy, belay_in_workgroup_id.z);
  }
}

@compute @workgroup_size(u32(width), 2u, 2u * 3u)
fn main_deep(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_id.z / 3u;
  belay_local = belay_in_local_invocation_index % (u32(width) * 2u * 3u);
  {
    let l: vec3u = vec3<u32>(belay_in_local_invocation_id.xy, belay_in_local_invocation_id.z % 3u);
    let i: u32 = belay_local;
  }
}

@compute @workgroup_size(2u * 33u)
fn main_deeper(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index / 33u;
  belay_local = belay_in_local_invocation_index % 33u;
  {
    let l: vec3u = vec3<u32>(belay_local % 1u, belay_local / 1u % 1u, belay_local / (1u * 1u));
    let i: u32 = belay_local;
  }
}

@compute @workgroup_size(2u * 2u * u32(depth))
fn main_unknown(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index / (2u * u32(depth));
  belay_local = belay_in_local_invocation_index % (2u * u32(depth));
  {
    let g: vec3u = belay_in_workgroup_id * vec3<u32>(1u, 2u, u32(depth)) + vec3<u32>(belay_local % 1u, belay_local / 1u % 2u, belay_local / (1u * 2u));
  }
}
