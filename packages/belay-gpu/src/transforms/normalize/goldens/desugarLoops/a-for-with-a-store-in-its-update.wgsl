// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f() {
  for (var i = 0u; i < 3u; a[i] += i) {
    i++;
    if (i == 2u) {
      continue;
    }
  }
}

// --- passes: desugarLoops

fn f() {
  {
    var i = 0u;
    loop {
      if (!(i < 3u)) {
        break;
      }
      {
        i++;
        if (i == 2u) {
          continue;
        }
      }
      continuing {
        a[i] += i;
      }
    }
  }
}
