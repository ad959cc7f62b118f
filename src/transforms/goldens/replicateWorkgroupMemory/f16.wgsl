struct belay_Copy_1 {
  value: vec3<f16>,
}

var<workgroup> h: array<belay_Copy_1, 2>;

struct belay_Copy_2 {
  value: array<f16, 301>,
  skew: array<u32, 25>,
}

var<workgroup> hs: array<belay_Copy_2, 2>;

fn f(i: u32) {
  let belay_value_1: f16 = h[belay_replica].value.y;
  hs[belay_replica].value[i] = belay_value_1;
  let belay_value_2: f16 = hs[belay_replica].value[0];
  h[belay_replica].value.x = belay_value_2;
}
