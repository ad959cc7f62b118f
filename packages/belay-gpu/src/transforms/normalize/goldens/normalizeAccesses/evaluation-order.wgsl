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
  var i = 1u;
  let x = bump(&i) + i * atomicAdd(&n[i], bump(&i)) + bump(&i);
  let y = vec3u(i, atomicLoad(&n[0]), i).xyz[atomicLoad(&n[1])];
  let z = -i32(a[0]) + i32(atomicLoad(&n[0]));
  return x + y + u32(z) + i;
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f() -> u32 {
  var i = 1u;
  let belay_value_1 = bump(&i);
  let belay_value_2 = i;
  let belay_value_3 = i;
  let belay_value_4 = bump(&i);
  let belay_value_5 = atomicAdd(&n[belay_value_3], belay_value_4);
  let x = belay_value_1 + belay_value_2 * belay_value_5 + bump(&i);
  let belay_value_6 = i;
  let belay_value_7 = atomicLoad(&n[0]);
  let belay_value_8 = vec3u(belay_value_6, belay_value_7, i).xyz;
  let belay_value_9 = atomicLoad(&n[1]);
  let y = belay_value_8[belay_value_9];
  let belay_value_10 = -i32(a[0]);
  let belay_value_11 = atomicLoad(&n[0]);
  let z = belay_value_10 + i32(belay_value_11);
  return x + y + u32(z) + i;
}
