// --- input

@group(0) @binding(0) var<storage, read_write> a: array<vec4f>;
var<workgroup> tile: mat2x3f;

fn f(i: u32, v: vec2f) {
  a[i].zx = v;
  a[i + 1u].rgb *= 2.0;
  tile[i].yz = a[i].ww;
}

// --- passes: normalizeAccesses, expandSwizzles

fn f(i: u32, v: vec2f) {
  let belay_value_4 = v.x;
  a[i].z = belay_value_4;
  let belay_value_5 = v.y;
  a[i].x = belay_value_5;
  let belay_value_1 = i + 1u;
  let belay_value_2: vec3<f32> = a[belay_value_1].rgb * 2.0;
  let belay_value_6 = belay_value_2.x;
  a[belay_value_1].r = belay_value_6;
  let belay_value_7 = belay_value_2.y;
  a[belay_value_1].g = belay_value_7;
  let belay_value_8 = belay_value_2.z;
  a[belay_value_1].b = belay_value_8;
  let belay_value_3: vec2<f32> = a[i].ww;
  let belay_value_9 = belay_value_3.x;
  tile[i].y = belay_value_9;
  let belay_value_10 = belay_value_3.y;
  tile[i].z = belay_value_10;
}
