@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> b: array<vec4f>;

@compute @workgroup_size(64)
fn halve(@builtin(global_invocation_id) id: vec3u) {
  b[id.x] = a[id.x] * 0.5;
}
