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

fn f(i: i32) -> u32 {
  const two = 2;
  let row = &tile[two];
  let size = &sizes[-1 + two];
  row[i] = (*size).y;
  return (*row)[3] + workgroupUniformLoad(row)[1] + size[i];
}

// --- passes: resolvePointers

fn f(i: i32) -> u32 {
  const two = 2;
  let belay_index_1 = two;
  let belay_index_2 = -1 + two;
  tile[belay_index_1][i] = sizes[belay_index_2].y;
  return tile[belay_index_1][3] + workgroupUniformLoad(&tile[belay_index_1])[1] + sizes[belay_index_2][i];
}
