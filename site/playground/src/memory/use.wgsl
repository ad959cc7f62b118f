@group(0) @binding(0) var<storage, read> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> copy: array<u32>;

@compute @workgroup_size(16)
fn use_data(@builtin(global_invocation_id) id: vec3u) {
  copy[id.x] = data[id.x];
}
