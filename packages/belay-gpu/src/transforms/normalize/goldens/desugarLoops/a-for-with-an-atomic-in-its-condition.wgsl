// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f(i: u32) {
  for (var i = 0u; i < atomicLoad(&n[1]); i++) {
    let i = i + 1u;
    a[i] = i;
  }
  a[i] = 0u;
}

// --- passes: desugarLoops

fn f(i: u32) {
  {
    var i = 0u;
    loop {
      if (!(i < atomicLoad(&n[1]))) {
        break;
      }
      {
        let i = i + 1u;
        a[i] = i;
      }
      continuing {
        i++;
      }
    }
  }
  a[i] = 0u;
}
