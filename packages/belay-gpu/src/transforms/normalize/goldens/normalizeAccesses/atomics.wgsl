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

fn f(i: u32) -> u32 {
  atomicAdd(&n[next()], next());
  atomicStore(&n[i], 1u);
  let x = atomicMax(&n[i + 1u], i);
  let old = atomicCompareExchangeWeak(&n[0], x, x + 1u).old_value;
  _ = atomicAdd(&n[0], atomicAdd(&n[1], atomicLoad(&n[2])));
  var y = atomicLoad(&n[0]);
  return old + atomicExchange(&n[3], y);
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f(i: u32) -> u32 {
  let belay_value_1 = next();
  let belay_value_2 = next();
  atomicAdd(&n[belay_value_1], belay_value_2);
  atomicStore(&n[i], 1u);
  let belay_value_3 = i + 1u;
  let x = atomicMax(&n[belay_value_3], i);
  let belay_value_4 = x + 1u;
  let belay_value_5 = atomicCompareExchangeWeak(&n[0], x, belay_value_4);
  let old = belay_value_5.old_value;
  let belay_value_6 = atomicLoad(&n[2]);
  let belay_value_7 = atomicAdd(&n[1], belay_value_6);
  let belay_value_8 = atomicAdd(&n[0], belay_value_7);
  _ = belay_value_8;
  let belay_value_9 = atomicLoad(&n[0]);
  var y = belay_value_9;
  let belay_value_10 = y;
  let belay_value_11 = atomicExchange(&n[3], belay_value_10);
  return old + belay_value_11;
}
