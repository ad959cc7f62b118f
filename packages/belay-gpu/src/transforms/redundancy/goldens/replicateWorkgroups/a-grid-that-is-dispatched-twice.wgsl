// --- input

fn meet(n: u32) {
  if (n > 3u) {
    workgroupBarrier();
  }
}

@compute @workgroup_size(4)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(global_invocation_id) id: vec3u) {
  meet(w.x);
}

// --- passes: replicateWorkgroups, replicateWorkgroups

@compute @workgroup_size(4)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>) {
  belay_local = belay_in_local_invocation_index;
  var belay_doubled = belay_doubling;
  if (belay_doubled == 3u) {
    if (belay_local == 0u) {
      belay_dimension = belay_report.grid;
    }
    belay_doubled = workgroupUniformLoad(&belay_dimension);
  }
  let belay_twin = belay_twin_of(belay_in_workgroup_id, belay_in_num_workgroups, belay_doubled);
  belay_replica = belay_twin.replica;
  belay_pair = belay_twin.id.x + belay_twin.groups.x * (belay_twin.id.y + belay_twin.groups.y * belay_twin.id.z);
  belay_workgroup = belay_twin.id;
  {
    let w: vec3u = belay_twin.id;
    let id: vec3u = belay_twin.id * vec3<u32>(4u, 1u, 1u) + belay_in_local_invocation_id;
    meet(w.x);
  }
}

override belay_doubling: u32 = 0u;

struct belay_Twin {
  replica: u32,
  id: vec3<u32>,
  groups: vec3<u32>,
}

fn belay_twin_of(id: vec3<u32>, groups: vec3<u32>, doubled: u32) -> belay_Twin {
  if (doubled > 3u) {
    return belay_Twin(doubled - 4u, id, groups);
  }
  if (doubled == 1u) {
    let at = id.x + groups.x * id.y;
    let pair = at >> 1u;
    return belay_Twin(at & 1u, vec3<u32>(pair % groups.x, pair / groups.x, id.z), vec3<u32>(groups.x, groups.y >> 1u, groups.z));
  }
  if (doubled == 2u) {
    let at = id.y + groups.y * id.z;
    let pair = at >> 1u;
    return belay_Twin(at & 1u, vec3<u32>(id.x, pair % groups.y, pair / groups.y), vec3<u32>(groups.x, groups.y, groups.z >> 1u));
  }
  return belay_Twin(id.x & 1u, vec3<u32>(id.x >> 1u, id.y, id.z), vec3<u32>(groups.x >> 1u, groups.y, groups.z));
}

var<workgroup> belay_dimension: u32;
