// --- input

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  workgroupBarrier();
  out[i] = i;
}

@compute @workgroup_size(8)
fn other() {
  out[0] = 1u;
}

// --- passes: declareReport, skip

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  if (i == 0u) {
    belay_skipped = belay_report.skip;
  }
  if (workgroupUniformLoad(&belay_skipped) != 0u) {
    return;
  }
  workgroupBarrier();
  out[i] = i;
}

var<workgroup> belay_skipped: u32;
