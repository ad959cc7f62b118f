// --- input

@diagnostic(off, derivative_uniformity) @compute @workgroup_size(1)
fn main() {}

// --- passes: declareReport, replicateInvocations

@diagnostic(off, derivative_uniformity) @compute @workgroup_size(2u, 1u, 1u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {}
}
