@diagnostic(off, derivative_uniformity)
fn belay_main_1() {}

@diagnostic(off, derivative_uniformity) @compute @workgroup_size(1u * 2u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  belay_main_1();
}

var<private> belay_lane: u32;
