// --- input

fn f(min: u32, select: bool) -> vec2<u32> {
  var u32 = min;
  u32 += vec2(min, 1u).y;
  return vec2(u32, max(min, 2u));
}

// --- passes: unique

fn f(min_1: u32, select_1: bool) -> vec2<u32> {
  var u32_1 = min_1;
  u32_1 += vec2(min_1, 1u).y;
  return vec2(u32_1, max(min_1, 2u));
}
