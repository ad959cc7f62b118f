// --- input

requires unrestricted_pointer_parameters;

struct Part {
  mass: f32,
  at: array<vec2u, 4>,
  hits: array<u32, 3>,
  count: atomic<u32>,
}

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> parts: array<Part>;
@group(0) @binding(2) var<uniform> sizes: array<vec4u, 4>;
var<workgroup> tile: array<array<u32, 4>, 8>;

fn next(p: ptr<function, u32>) -> u32 {
  *p += 1u;
  return *p;
}

@must_use
fn biggest(p: ptr<storage, array<u32>, read_write>) -> u32 {
  const first = 0;
  let n = arrayLength(p);
  var most = p[first];
  for (var i = 1u; i < n; i++) {
    let x = (*p)[i];
    most = max(most, x);
  }
  return most;
}

fn f() -> u32 {
  let all = &a;
  return biggest(all) + biggest(&a);
}

// --- passes: resolvePointers

fn f() -> u32 {
  return belay_biggest_1() + belay_biggest_1();
}

@must_use
fn belay_biggest_1() -> u32 {
  const first = 0;
  let n = arrayLength(&a);
  var most = a[first];
  for (var i = 1u; i < n; i++) {
    let x = a[i];
    most = max(most, x);
  }
  return most;
}
