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

fn f() {
  var i = 0u;
  let p = &a[i];
  i++;
  *p = i;
  let q = p;
  i++;
  *q += 1u;
}

// --- passes: resolvePointers

fn f() {
  var i = 0u;
  let belay_index_1 = i;
  i++;
  a[belay_index_1] = i;
  i++;
  a[belay_index_1] += 1u;
}
