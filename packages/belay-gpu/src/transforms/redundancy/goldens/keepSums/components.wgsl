// --- input

@group(0) @binding(0) var<storage, read_write> c: array<f32>;

fn row(i: u32) -> u32 {
  return i / 8u;
}

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let sums = vec4f(f32(id.x));
  let results = max(sums, vec4f());
  c[id.x] = results.x;
  for (var i = 1u; i < 4u; i++) {
    c[id.x + i] = results[i];
  }
}

// --- passes: keepSums

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let sums = vec4f(f32(id.x));
  let results = max(keep(sums), vec4f());
  c[id.x] = results.x;
  sums_1[id.x] = kept.x;
  for (var i = 1u; i < 4u; i++) {
    c[id.x + i] = results[i];
    sums_1[id.x + i] = kept[i];
  }
}

@group(1) @binding(4) var<storage, read_write> sums_1: array<f32>;
var<private> kept: vec4<f32>;

fn keep(x: vec4<f32>) -> vec4<f32> {
  kept = x;
  return x;
}
