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

@must_use
fn twice(x: u32) -> u32 {
  return x * 2u;
}

fn f() -> u32 {
  switch (atomicLoad(&n[0])) {
    case 0, 1: {
      a[0] += 1u;
    }
    case 2, default: {}
  }
  switch (i32(twice(atomicLoad(&n[1])))) {
    default: {
      return twice(twice(next()) + atomicLoad(&n[2]));
    }
  }
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f() -> u32 {
  let belay_value_1 = atomicLoad(&n[0]);
  switch (belay_value_1) {
    case 0, 1: {
      let belay_value_2: u32 = a[0] + 1u;
      a[0] = belay_value_2;
    }
    case 2, default: {}
  }
  let belay_value_3 = atomicLoad(&n[1]);
  switch (i32(twice(belay_value_3))) {
    default: {
      let belay_value_4 = twice(next());
      let belay_value_5 = atomicLoad(&n[2]);
      return twice(belay_value_4 + belay_value_5);
    }
  }
}
