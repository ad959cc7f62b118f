// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f(i: u32) {
  for (let p = &a[i]; *p < 3u;) {
    *p = 4u;
  }
}

// --- passes: desugarLoops

fn f(i: u32) {
  {
    let p = &a[i];
    loop {
      if (!(*p < 3u)) {
        break;
      }
      {
        *p = 4u;
      }
    }
  }
}
