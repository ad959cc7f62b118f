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

fn f(i: u32) -> bool {
  let both = i > 3u && atomicAdd(&n[0], 1u) > 4u && next() > 2u;
  let either = atomicAdd(&n[0], 1u) > 4u || (i > 3u && atomicLoad(&n[1]) == 0u);
  seen = both || atomicLoad(&n[2]) > 0u;
  return !(next() > 1u || atomicLoad(&n[0]) > i) & either;
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f(i: u32) -> bool {
  var belay_condition_2 = i > 3u;
  if (belay_condition_2) {
    let belay_value_1 = atomicAdd(&n[0], 1u);
    belay_condition_2 = belay_value_1 > 4u;
  }
  var belay_condition_1 = belay_condition_2;
  if (belay_condition_1) {
    belay_condition_1 = next() > 2u;
  }
  let both = belay_condition_1;
  let belay_value_2 = atomicAdd(&n[0], 1u);
  var belay_condition_3 = belay_value_2 > 4u;
  if (!belay_condition_3) {
    var belay_condition_4 = i > 3u;
    if (belay_condition_4) {
      let belay_value_3 = atomicLoad(&n[1]);
      belay_condition_4 = belay_value_3 == 0u;
    }
    belay_condition_3 = belay_condition_4;
  }
  let either = belay_condition_3;
  var belay_condition_5 = both;
  if (!belay_condition_5) {
    let belay_value_4 = atomicLoad(&n[2]);
    belay_condition_5 = belay_value_4 > 0u;
  }
  let belay_value_5: bool = belay_condition_5;
  seen = belay_value_5;
  var belay_condition_6 = next() > 1u;
  if (!belay_condition_6) {
    let belay_value_6 = atomicLoad(&n[0]);
    belay_condition_6 = belay_value_6 > i;
  }
  return !belay_condition_6 & either;
}
