// --- input

@group(0) @binding(0) var<storage, read_write> a: array<vec4f>;
var<workgroup> tile: mat2x3f;

fn f(i: u32, v: vec2f) {
  a[i].wzyx.zw.yx = v;
  a[i].wzyx.y = v.x;
}

// --- passes: normalizeAccesses, expandSwizzles

fn f(i: u32, v: vec2f) {
  let belay_value_2 = v.x;
  a[i].x = belay_value_2;
  let belay_value_3 = v.y;
  a[i].y = belay_value_3;
  let belay_value_1: f32 = v.x;
  let belay_value_4 = belay_value_1;
  a[i].z = belay_value_4;
}
