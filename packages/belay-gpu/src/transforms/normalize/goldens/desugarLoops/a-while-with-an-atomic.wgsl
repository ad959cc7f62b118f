// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f(x: u32) {
  while (x > 3u && atomicAdd(&n[0], 1u) < x) {
    if (a[x] == 0u) {
      continue;
    }
    a[x] = 1u;
  }
}

// --- passes: desugarLoops

fn f(x: u32) {
  loop {
    if (!(x > 3u && atomicAdd(&n[0], 1u) < x)) {
      break;
    }
    {
      if (a[x] == 0u) {
        continue;
      }
      a[x] = 1u;
    }
  }
}
