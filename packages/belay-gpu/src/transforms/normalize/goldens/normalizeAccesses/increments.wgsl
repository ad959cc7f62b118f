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

fn f(i: i32) {
  a[next()]++;
  a[i]--;
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f(i: i32) {
  let belay_value_1 = next();
  let belay_value_2: u32 = a[belay_value_1] + 1;
  a[belay_value_1] = belay_value_2;
  let belay_value_3: u32 = a[i] - 1;
  a[i] = belay_value_3;
}
