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

fn f() {
  a[next()] += next() * 2u;
  a[0] <<= 1u;
  a[1] |= atomicOr(&n[0], 4u);
  a[atomicAdd(&n[1], 1u)] -= a[2];
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f() {
  let belay_value_1 = next();
  let belay_value_2: u32 = a[belay_value_1] + next() * 2u;
  a[belay_value_1] = belay_value_2;
  let belay_value_3: u32 = a[0] << 1u;
  a[0] = belay_value_3;
  let belay_value_4 = a[1];
  let belay_value_5 = atomicOr(&n[0], 4u);
  let belay_value_6: u32 = belay_value_4 | belay_value_5;
  a[1] = belay_value_6;
  let belay_value_7 = atomicAdd(&n[1], 1u);
  let belay_value_8: u32 = a[belay_value_7] - a[2];
  a[belay_value_7] = belay_value_8;
}
