// --- input

alias u32 = i32;

struct vec2 {
  f32: u32,
  atomicAdd: f32,
}

const pack2x16float = 3u;

var<private> min: array<u32, pack2x16float>;

fn select(a: vec2) -> u32 {
  return a.f32 + min[0];
}

fn f() -> u32 {
  var v: vec2;
  v.f32 = 2;
  return select(vec2(v.f32, v.atomicAdd));
}

// --- passes: unique

alias u32_1 = i32;

struct vec2_1 {
  f32: u32_1,
  atomicAdd: f32,
}

const pack2x16float_1 = 3u;

var<private> min_1: array<u32_1, pack2x16float_1>;

fn select_1(a: vec2_1) -> u32_1 {
  return a.f32 + min_1[0];
}

fn f() -> u32_1 {
  var v: vec2_1;
  v.f32 = 2;
  return select_1(vec2_1(v.f32, v.atomicAdd));
}
