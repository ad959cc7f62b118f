// --- input

requires unrestricted_pointer_parameters;

struct Part {
  mass: f32,
  at: array<vec2u, 4>,
  hits: array<u32, 3>,
  count: atomic<u32>,
}

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> parts: array<Part>;
@group(0) @binding(2) var<uniform> sizes: array<vec4u, 4>;
var<workgroup> tile: array<array<u32, 4>, 8>;

fn next(p: ptr<function, u32>) -> u32 {
  *p += 1u;
  return *p;
}

fn f() {
  var i = 0u;
  loop {
    let p = &a[i];
    if (*p > 3u) {
      continue;
    }
    *p = 4u;
    continuing {
      *p += 1u;
      i++;
      break if *p > 9u;
    }
  }
  for (let p = &a[i]; *p < 3u; *p += 1u) {
    a[*p] = i;
  }
}

// --- passes: desugarLoops, resolvePointers

fn f() {
  var i = 0u;
  loop {
    let belay_index_1 = i;
    if (a[belay_index_1] > 3u) {
      continue;
    }
    a[belay_index_1] = 4u;
    continuing {
      a[belay_index_1] += 1u;
      i++;
      break if a[belay_index_1] > 9u;
    }
  }
  {
    let belay_index_2 = i;
    loop {
      if (!(a[belay_index_2] < 3u)) {
        break;
      }
      {
        a[a[belay_index_2]] = i;
      }
      continuing {
        a[belay_index_2] += 1u;
      }
    }
  }
}
