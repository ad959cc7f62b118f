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

fn put(to: ptr<storage, u32, read_write>, v: u32) {
  *to = v;
}

fn f() {
  var i = 0u;
  put(&a[next(&i)], next(&i));
}

// --- passes: resolvePointers

fn f() {
  var i = 0u;
  belay_put_1(u32(next(&i)), next(&i));
}

fn belay_put_1(belay_index_1: u32, v: u32) {
  a[belay_index_1] = v;
}
