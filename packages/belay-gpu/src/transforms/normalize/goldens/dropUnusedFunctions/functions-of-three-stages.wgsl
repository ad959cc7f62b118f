// --- input

fn inner() -> f32 {
  return 1.0;
}

fn outer() -> f32 {
  return inner();
}

fn corner() -> vec4f {
  return vec4f();
}

fn unused() -> f32 {
  return alsoUnused();
}

fn alsoUnused() -> f32 {
  return outer();
}

var<private> kept: f32;

@vertex
fn vertices() -> @builtin(position) vec4f {
  return corner();
}

@compute @workgroup_size(64)
fn main() {
  kept = outer();
}

@fragment
fn fragments() {}

// --- passes: dropUnusedFunctions

