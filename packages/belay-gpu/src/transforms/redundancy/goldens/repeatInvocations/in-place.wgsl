// --- input

@group(0) @binding(0) var<storage, read_write> a: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let v = a[id.x];
  a[id.x] = v + 1u;
}

// --- passes: declareReport, repeat

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(global_invocation_id) belay_in_global_invocation_id: vec3<u32>) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  let belay_zero = u32(belay_in_workgroup_id.x >= belay_in_num_workgroups.x);
  for (var belay_pass = 0u; belay_pass < 2u + belay_zero; belay_pass++) {
    belay_replica = (1u - belay_pass) ^ belay_zero;
    belay_local = belay_in_local_invocation_index ^ belay_replica;
    {
      let id: vec3u = vec3<u32>(belay_in_global_invocation_id.x ^ belay_replica, belay_in_global_invocation_id.yz);
      let v = a[id.x];
      a[id.x] = v + 1u;
    }
    if (belay_pass == 0u) {
      belay_keep();
      storageBarrier();
    }
  }
}

var<private> belay_lane: u32;
var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_finals, belay_keep, belay_conclude
