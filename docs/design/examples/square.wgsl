@group(0) @binding(0) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn square(@builtin(global_invocation_id) id: vec3u) {
  x[id.x] *= x[id.x];
}
