// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f() {
  @diagnostic(off, derivative_uniformity) while (atomicLoad(&n[0]) > 0u) @diagnostic(warning, derivative_uniformity) {
    for (var i = 0u; i < 2u; atomicAdd(&n[i], 1u)) {
      i++;
    }
  }
}

// --- passes: desugarLoops

fn f() {
  @diagnostic(off, derivative_uniformity) loop {
    if (!(atomicLoad(&n[0]) > 0u)) {
      break;
    }
    @diagnostic(warning, derivative_uniformity) {
      {
        var i = 0u;
        loop {
          if (!(i < 2u)) {
            break;
          }
          {
            i++;
          }
          continuing {
            atomicAdd(&n[i], 1u);
          }
        }
      }
    }
  }
}
