// --- input

enable f16;

var<workgroup> h: vec3h;
var<workgroup> hs: array<f16, 301>;

fn f(i: u32) {
  hs[i] = h.y;
  h.x = hs[0];
}

// --- passes: normalizeAccesses, declareReport, replicateWorkgroupMemory

struct belay_Copy_1 {
  value: vec3<f16>,
}

var<workgroup> h: array<belay_Copy_1, 2>;
var<workgroup> hs: array<array<f16, 2>, 301>;

fn f(i: u32) {
  let belay_value_1: f16 = h[belay_replica].value.y;
  hs[i][belay_replica] = belay_value_1;
  let belay_value_2: f16 = hs[0][belay_replica];
  h[belay_replica].value.x = belay_value_2;
}
