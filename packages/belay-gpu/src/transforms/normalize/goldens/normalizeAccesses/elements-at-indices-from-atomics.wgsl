// --- input

struct Part {
  at: vec3f,
  flags: array<u32, 4>,
  m: mat2x2f,
}

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> parts: array<Part>;
@group(0) @binding(3) var image: texture_storage_2d<rgba8unorm, write>;
var<workgroup> most: vec2u;
var<workgroup> seen: bool;
var<private> count: u32;

fn next() -> u32 {
  count += 1u;
  return count;
}

fn bump(p: ptr<function, u32>) -> u32 {
  *p += 1u;
  return *p;
}

fn f() -> u32 {
  var xs: array<u32, 4>;
  let x = a[atomicAdd(&n[0], 1u)];
  let at = parts[atomicAdd(&n[0], 1u)].at.xy;
  return x + xs[atomicLoad(&n[0])] + u32(at.x) + u32(parts[0].flags[atomicLoad(&n[1])]);
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f() -> u32 {
  var xs: array<u32, 4>;
  let belay_value_1 = atomicAdd(&n[0], 1u);
  let x = a[belay_value_1];
  let belay_value_2 = atomicAdd(&n[0], 1u);
  let at = parts[belay_value_2].at.xy;
  let belay_value_3 = atomicLoad(&n[0]);
  let belay_value_4 = x + xs[belay_value_3] + u32(at.x);
  let belay_value_5 = atomicLoad(&n[1]);
  return belay_value_4 + u32(parts[0].flags[belay_value_5]);
}
