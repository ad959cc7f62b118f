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
  for (var i = atomicLoad(&n[0]); i < atomicLoad(&n[1]) && i < 9u; i += atomicAdd(&n[2], i)) {
    a[i] = i;
  }
  while (workgroupUniformLoad(&most).x > 3u) {
    workgroupBarrier();
  }
}

// --- passes: desugarLoops, resolvePointers, normalizeAccesses

fn f() {
  {
    let belay_value_1 = atomicLoad(&n[0]);
    var i = belay_value_1;
    loop {
      let belay_value_5 = i;
      let belay_value_6 = atomicLoad(&n[1]);
      var belay_condition_1 = belay_value_5 < belay_value_6;
      if (belay_condition_1) {
        belay_condition_1 = i < 9u;
      }
      if (!belay_condition_1) {
        break;
      }
      {
        let belay_value_7 = i;
        let belay_value_8: u32 = i;
        a[belay_value_7] = belay_value_8;
      }
      continuing {
        let belay_value_2 = i;
        let belay_value_3 = i;
        let belay_value_4 = atomicAdd(&n[2], belay_value_3);
        i = belay_value_2 + belay_value_4;
      }
    }
  }
  loop {
    let belay_value_9 = workgroupUniformLoad(&most);
    if (!(belay_value_9.x > 3u)) {
      break;
    }
    {
      workgroupBarrier();
    }
  }
}
