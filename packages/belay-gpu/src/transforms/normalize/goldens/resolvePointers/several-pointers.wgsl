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

alias Row = ptr<workgroup, array<u32, 4>>;
alias Size = ptr<uniform, vec4u>;

fn fill(to: Row, k: ptr<function, u32>, other: ptr<storage, array<vec2u, 4>, read_write>, size: Size) {
  for (; *k < size.x; *k += 1u) {
    to[*k] = (*other)[*k].x;
  }
}

fn f(j: u32) {
  var i = j;
  var k = 0u;
  fill(&tile[i], &k, &parts[next(&i)].at, &sizes[next(&i)]);
}

// --- passes: resolvePointers

fn f(j: u32) {
  var i = j;
  var k = 0u;
  belay_fill_1(u32(i), &k, u32(next(&i)), u32(next(&i)));
}

fn belay_fill_1(belay_index_1: u32, k: ptr<function, u32>, belay_index_2: u32, belay_index_3: u32) {
  for (; *k < sizes[belay_index_3].x; *k += 1u) {
    tile[belay_index_1][*k] = parts[belay_index_2].at[*k].x;
  }
}
