// --- input

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {}

// --- passes: declareReport, enableSubgroups, replicateInvocations

@compute @workgroup_size(2u * 32u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(subgroup_invocation_id) belay_in_subgroup_invocation_id: u32, @builtin(subgroup_size) belay_in_subgroup_size: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_distance = min(belay_in_subgroup_size >> 1u, 32u & (~32u + 1u));
  belay_replica = u32((belay_in_local_invocation_index & belay_distance) != 0u);
  belay_local = (belay_in_local_invocation_index & (belay_distance - 1u)) | ((belay_in_local_invocation_index >> 1u) & ~(belay_distance - 1u));
  belay_partner = vec4<u32>(select(0u, 1u << ((belay_in_subgroup_invocation_id ^ belay_distance) & 31u), (belay_in_subgroup_invocation_id ^ belay_distance) >> 5u == 0u), select(0u, 1u << ((belay_in_subgroup_invocation_id ^ belay_distance) & 31u), (belay_in_subgroup_invocation_id ^ belay_distance) >> 5u == 1u), select(0u, 1u << ((belay_in_subgroup_invocation_id ^ belay_distance) & 31u), (belay_in_subgroup_invocation_id ^ belay_distance) >> 5u == 2u), select(0u, 1u << ((belay_in_subgroup_invocation_id ^ belay_distance) & 31u), (belay_in_subgroup_invocation_id ^ belay_distance) >> 5u == 3u));
  {
    let i: u32 = belay_local;
  }
}

var<private> belay_distance: u32;
var<private> belay_partner: vec4<u32>;
