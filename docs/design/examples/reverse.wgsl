@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
var<workgroup> tile: array<f32, 64>;

@compute @workgroup_size(64)
fn reverse(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) i: u32) {
  tile[i] = a[id.x];
  workgroupBarrier();
  b[id.x] = tile[63u - i];
}
