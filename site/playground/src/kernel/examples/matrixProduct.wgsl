// A product of two matrices, tile by tile through workgroup memory.
//! dispatch 8 8
//! fill a waves
//! fill b ramp
//! show c 64 64
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

const n = 64u;
var<workgroup> tile_a: array<array<f32, 8>, 8>;
var<workgroup> tile_b: array<array<f32, 8>, 8>;

@compute @workgroup_size(8, 8)
fn multiply(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(local_invocation_id) local: vec3u,
) {
  var sum = 0.0;
  for (var tile = 0u; tile < n; tile += 8) {
    tile_a[local.y][local.x] = a[id.y * n + tile + local.x];
    tile_b[local.y][local.x] = b[(tile + local.y) * n + id.x];
    workgroupBarrier();
    for (var k = 0u; k < 8; k++) {
      sum += tile_a[local.y][k] * tile_b[k][local.x];
    }
    workgroupBarrier();
  }
  c[id.y * n + id.x] = sum;
}
