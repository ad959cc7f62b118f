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

fn add(p: ptr<storage, u32, read_write>, n: u32) -> u32 {
  *p += n;
  return *p;
}

fn f(i: u32, j: i32) -> u32 {
  return add(&a[i], 1u) + add(&a[j], 2u) + add(&parts[i].hits[j + 1], 3u) + add(&a[7], 4u);
}

// --- passes: resolvePointers

fn f(i: u32, j: i32) -> u32 {
  return belay_add_1(u32(i), 1u) + belay_add_1(u32(j), 2u) + belay_add_2(u32(i), u32(j + 1), 3u) + belay_add_3(4u);
}

fn belay_add_1(belay_index_1: u32, n: u32) -> u32 {
  a[belay_index_1] += n;
  return a[belay_index_1];
}

fn belay_add_2(belay_index_2: u32, belay_index_3: u32, n: u32) -> u32 {
  parts[belay_index_2].hits[belay_index_3] += n;
  return parts[belay_index_2].hits[belay_index_3];
}

fn belay_add_3(n: u32) -> u32 {
  a[7] += n;
  return a[7];
}
