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

fn f(i: u32) {
  let part: ptr<storage, Part, read_write> = &parts[i];
  let at = &(*part).at;
  (*part).mass = 1.0;
  part.mass = f32(at[1].x);
  (*at)[i + 1u].y = (*&(*at)[2])[0];
  let element = &at[i];
  element.x += 1u;
  (*element)[i % 2u] = 1u;
  atomicAdd(&part.count, arrayLength(&parts));
}

// --- passes: resolvePointers

fn f(i: u32) {
  let belay_index_1 = i;
  parts[belay_index_1].mass = 1.0;
  parts[belay_index_1].mass = f32(parts[belay_index_1].at[1].x);
  parts[belay_index_1].at[i + 1u].y = parts[belay_index_1].at[2][0];
  let belay_index_2 = i;
  parts[belay_index_1].at[belay_index_2].x += 1u;
  parts[belay_index_1].at[belay_index_2][i % 2u] = 1u;
  atomicAdd(&parts[belay_index_1].count, arrayLength(&parts));
}
