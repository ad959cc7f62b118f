// --- input

struct Bins {
  total: u32,
  all: array<atomic<u32>, 40>,
}

override n = 4;

var<workgroup> bins: Bins;
var<workgroup> counts: array<atomic<i32>, n>;

fn f(i: u32) {
  atomicAdd(&bins.all[i], 1u);
  atomicMax(&counts[i], 3);
  workgroupBarrier();
  bins.total = atomicLoad(&bins.all[0]);
}

// --- passes: normalizeAccesses, declareReport, replicateWorkgroupMemory

struct belay_Copy_1 {
  value: Bins,
  skew: array<u32, 7>,
}

var<workgroup> bins: array<belay_Copy_1, 2>;
var<workgroup> counts: array<array<atomic<i32>, 2>, n>;

fn f(i: u32) {
  atomicAdd(&bins[belay_replica].value.all[i], 1u);
  atomicMax(&counts[i][belay_replica], 3);
  workgroupBarrier();
  let belay_value_1 = atomicLoad(&bins[belay_replica].value.all[0]);
  bins[belay_replica].value.total = belay_value_1;
}
