// --- input

@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
var<workgroup> most: u32;

fn f() {
  for (var i = 0u; i < workgroupUniformLoad(&most); i++) {
    workgroupBarrier();
  }
}

// --- passes: desugarLoops

fn f() {
  {
    var i = 0u;
    loop {
      if (!(i < workgroupUniformLoad(&most))) {
        break;
      }
      {
        workgroupBarrier();
      }
      continuing {
        i++;
      }
    }
  }
}
