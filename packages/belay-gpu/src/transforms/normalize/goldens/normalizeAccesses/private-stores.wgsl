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
  var x = 1u;
  var xs: array<u32, 4>;
  x += next();
  x++;
  xs[next()] += atomicAdd(&n[0], x);
  x -= atomicLoad(&n[0]);
  xs[atomicAdd(&n[0], 1u)]++;
  count = atomicLoad(&n[1]);
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f() {
  var x = 1u;
  var xs: array<u32, 4>;
  x += next();
  x++;
  let belay_value_1 = next();
  let belay_value_2 = xs[belay_value_1];
  let belay_value_3 = x;
  let belay_value_4 = atomicAdd(&n[0], belay_value_3);
  xs[belay_value_1] = belay_value_2 + belay_value_4;
  let belay_value_5 = x;
  let belay_value_6 = atomicLoad(&n[0]);
  x = belay_value_5 - belay_value_6;
  let belay_value_7 = atomicAdd(&n[0], 1u);
  xs[belay_value_7]++;
  let belay_value_8 = atomicLoad(&n[1]);
  count = belay_value_8;
}
