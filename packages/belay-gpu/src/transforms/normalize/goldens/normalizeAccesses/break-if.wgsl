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
  var i = 0u;
  loop {
    if (i == 2u) {
      continue;
    }
    a[i] = i;
    continuing {
      i++;
      a[i] += 1u;
      break if atomicAdd(&n[0], 1u) > i || i > 5u;
    }
  }
  loop {
    i++;
    continuing {
      break if atomicLoad(&n[0]) > 3u;
    }
  }
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f() {
  var i = 0u;
  loop {
    if (i == 2u) {
      continue;
    }
    let belay_value_4 = i;
    let belay_value_5: u32 = i;
    a[belay_value_4] = belay_value_5;
    continuing {
      i++;
      let belay_value_1 = i;
      let belay_value_2: u32 = a[belay_value_1] + 1u;
      a[belay_value_1] = belay_value_2;
      let belay_value_3 = atomicAdd(&n[0], 1u);
      var belay_condition_1 = belay_value_3 > i;
      if (!belay_condition_1) {
        belay_condition_1 = i > 5u;
      }
      break if belay_condition_1;
    }
  }
  loop {
    i++;
    continuing {
      let belay_value_6 = atomicLoad(&n[0]);
      break if belay_value_6 > 3u;
    }
  }
}
