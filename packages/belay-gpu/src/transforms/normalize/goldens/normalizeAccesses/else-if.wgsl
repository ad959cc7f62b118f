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

fn f(i: u32) {
  if (a[i] == 0u) {
    a[i] = 1u;
  } else if (atomicAdd(&n[0], 1u) > 3u) {
    a[i] = 2u;
  } else if (i > 3u) {
    a[i] = 3u;
  } else {
    a[i] = 4u;
  }
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f(i: u32) {
  if (a[i] == 0u) {
    let belay_value_5: u32 = 1u;
    a[i] = belay_value_5;
  } else {
    let belay_value_1 = atomicAdd(&n[0], 1u);
    if (belay_value_1 > 3u) {
      let belay_value_4: u32 = 2u;
      a[i] = belay_value_4;
    } else if (i > 3u) {
      let belay_value_3: u32 = 3u;
      a[i] = belay_value_3;
    } else {
      let belay_value_2: u32 = 4u;
      a[i] = belay_value_2;
    }
  }
}
