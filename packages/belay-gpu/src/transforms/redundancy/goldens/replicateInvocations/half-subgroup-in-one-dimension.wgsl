// --- input

@compute @workgroup_size(96)
fn main(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3<u32>) {}

// --- passes: declareReport, enableSubgroups, replicateInvocations

@compute @workgroup_size(2u * 96u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(subgroup_size) belay_in_subgroup_size: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_distance = min(belay_in_subgroup_size >> 1u, 96u & (~96u + 1u));
  belay_replica = u32((belay_in_local_invocation_index & belay_distance) != 0u);
  belay_local = (belay_in_local_invocation_index & (belay_distance - 1u)) | ((belay_in_local_invocation_index >> 1u) & ~(belay_distance - 1u));
  {
    let l: vec3u = vec3<u32>(belay_local, 0u, 0u);
    let i: u32 = belay_local;
    let g: vec3<u32> = belay_in_workgroup_id * vec3<u32>(96u, 1u, 1u) + vec3<u32>(belay_local, 0u, 0u);
  }
}

var<private> belay_distance: u32;
