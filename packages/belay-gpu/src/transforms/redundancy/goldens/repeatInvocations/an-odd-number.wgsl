// --- input

override width = 4;

@compute @workgroup_size(3, 5)
fn main(@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) g: vec3u, @builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u) {}

// --- passes: declareReport, repeat

@compute @workgroup_size(3, 5)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = w;
  belay_lane = belay_in_local_invocation_index;
  let belay_zero = u32(w.x >= n.x);
  for (var belay_pass = 0u; belay_pass < 2u + belay_zero; belay_pass++) {
    belay_replica = (1u - belay_pass) ^ belay_zero;
    belay_local = min(belay_in_local_invocation_index ^ belay_replica, 3u * 5u - 1u);
    {
      let l: vec3u = vec3<u32>(belay_local % 3u, belay_local / 3u, 0u);
      let i: u32 = belay_local;
      let g: vec3u = w * vec3<u32>(3u, 5u, 1u) + vec3<u32>(belay_local % 3u, belay_local / 3u, 0u);
    }
    if (belay_pass == 0u) {
      belay_keep();
    }
  }
}

var<private> belay_lane: u32;
var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_finals, belay_keep, belay_conclude
