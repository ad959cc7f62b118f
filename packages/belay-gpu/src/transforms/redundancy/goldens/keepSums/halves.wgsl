// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> c: array<f16>;

fn row(i: u32) -> u32 {
  return i / 8u;
}

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let sum = f32(id.x);
  c[id.x] = f16(max(sum, 0.0));
}

// --- passes: keepSums

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let sum = f32(id.x);
  c[id.x] = f16(max(keep(sum), 0.0));
  sums[id.x] = kept;
}

@group(1) @binding(4) var<storage, read_write> sums: array<f32>;
var<private> kept: f32;

fn keep(x: f32) -> f32 {
  kept = x;
  return x;
}
