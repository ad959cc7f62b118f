// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f() {
  for (var i = atomicAdd(&n[0], 1u);;) {
    if (i > 3u) {
      break;
    }
    i++;
  }
}

// --- passes: desugarLoops

fn f() {
  {
    var i = atomicAdd(&n[0], 1u);
    loop {
      {
        if (i > 3u) {
          break;
        }
        i++;
      }
    }
  }
}
