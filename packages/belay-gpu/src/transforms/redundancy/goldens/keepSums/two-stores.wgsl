// --- input

struct Results {
  rows: array<vec2f>,
}

@group(0) @binding(0) var<storage, read_write> c: Results;

fn row(i: u32) -> u32 {
  return i / 8u;
}

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&c.rows)) {
    return;
  }
  let upper = f32(id.x);
  let lower = -upper;
  c.rows[id.x].x = max(upper, 0.0);
  c.rows[id.x].y = max(lower, 0.0);
}

// --- passes: keep

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&c.rows)) {
    return;
  }
  let upper = f32(id.x);
  let lower = -upper;
  c.rows[id.x].x = max(keep(upper), 0.0);
  sums.rows[id.x].x = kept;
  c.rows[id.x].y = max(keep(lower), 0.0);
  sums.rows[id.x].y = kept;
}

@group(1) @binding(4) var<storage, read_write> sums: Results;
var<private> kept: f32;

fn keep(x: f32) -> f32 {
  kept = x;
  return x;
}
