// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f() {
  for (a[0] = 0u; a[0] < 3u; a[0]++) {}
}

// --- passes: desugarLoops

fn f() {
  {
    a[0] = 0u;
    loop {
      if (!(a[0] < 3u)) {
        break;
      }
      {}
      continuing {
        a[0]++;
      }
    }
  }
}
