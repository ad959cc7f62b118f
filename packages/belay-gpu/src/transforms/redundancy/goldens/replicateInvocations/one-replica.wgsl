// --- input

@compute @workgroup_size(4, 4)
fn main(@builtin(global_invocation_id) g: vec3u, @builtin(local_invocation_id) l: vec3u) {}

// --- passes: declareReport, replicateInvocations

@compute @workgroup_size(4, 4)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_local = belay_in_local_invocation_index;
  {}
}
