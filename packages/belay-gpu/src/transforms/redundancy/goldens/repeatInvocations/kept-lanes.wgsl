// --- input

enable subgroups;
requires subgroup_id;

@compute @workgroup_size(16, 4)
fn main(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3u, @builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u, @builtin(subgroup_invocation_id) s: u32, @builtin(subgroup_id) id: u32) {
  _ = subgroupAdd(s);
}

// --- passes: declareReport, repeatInPlace

@compute @workgroup_size(16, 4)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3<u32>, @builtin(subgroup_invocation_id) belay_in_subgroup_invocation_id: u32, @builtin(subgroup_id) belay_in_subgroup_id: u32) {
  belay_workgroup = w;
  belay_lane = belay_in_local_invocation_index;
  let belay_zero = u32(w.x >= n.x);
  for (var belay_pass = 0u; belay_pass < 2u + belay_zero; belay_pass++) {
    belay_replica = (1u - belay_pass) ^ belay_zero;
    belay_local = belay_in_local_invocation_index ^ (belay_pass * belay_zero);
    {
      let l: vec3u = vec3<u32>(belay_in_local_invocation_id.x ^ (belay_pass * belay_zero), belay_in_local_invocation_id.yz);
      let i: u32 = belay_local;
      let g: vec3u = vec3<u32>(belay_in_global_invocation_id.x ^ (belay_pass * belay_zero), belay_in_global_invocation_id.yz);
      let s: u32 = belay_in_subgroup_invocation_id ^ (belay_pass * belay_zero);
      let id: u32 = belay_in_subgroup_id ^ (belay_pass * belay_zero);
      _ = subgroupAdd(s);
    }
    if (belay_pass == 0u) {
      belay_keep();
      workgroupBarrier();
    }
  }
}

var<private> belay_lane: u32;
var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_kept, belay_whose, belay_keep, belay_conclude
