// --- input

enable subgroups;
requires subgroup_id;

@compute @workgroup_size(8, 4)
fn main(@builtin(subgroup_id) id: u32, @builtin(num_subgroups) count: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32) {
  if (id == 0u) {
    _ = subgroupAdd(lane + count + size);
  }
}

// --- passes: declareReport, enableSubgroups, replicateInvocations

@compute @workgroup_size(8u, 4u, 2u)
fn main(@builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_id.z;
  belay_local = belay_in_local_invocation_index % (8u * 4u);
  belay_check_subgroup(belay_in_local_invocation_index, lane, size, 8u * 4u);
  {
    let id: u32 = belay_local / size;
    let count: u32 = 8u * 4u / size;
    if (id == 0u) {
      _ = subgroupAdd(lane + count + size);
    }
  }
}

fn belay_check_subgroup(index: u32, lane: u32, size: u32, invocations: u32) {
  let first = subgroupBroadcastFirst(index);
  let placed = subgroupAdd(select(0u, 1u, index == first + lane));
  if ((placed != size || first % size != 0u || invocations % size != 0u) && index == first) {
    belay_record(0u, 5u, 0u, vec4<u32>());
  }
}
