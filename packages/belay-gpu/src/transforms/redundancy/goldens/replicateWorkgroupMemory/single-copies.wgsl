// --- input

struct Bins {
  total: u32,
  all: array<atomic<u32>, 4>,
}

var<workgroup> shared_bins: Bins;
var<workgroup> shared_count: atomic<i32>;
var<workgroup> unused: u32;
var<workgroup> other: u32;
var<private> mine: u32;

fn f(i: u32) {
  shared_bins.total = i;
  atomicAdd(&shared_bins.all[i], 1u);
  mine = workgroupUniformLoad(&shared_bins.total);
  atomicStore(&shared_count, 1);
}

fn g() {
  other = 1u;
}

// --- passes: normalizeAccesses, declareReport, replicateWorkgroupMemory

