fn f(j: u32) {
  var i = j;
  var k = 0u;
  belay_fill_1(u32(i), &k, u32(next(&i)), u32(next(&i)));
}

fn belay_fill_1(belay_index_1: u32, k: ptr<function, u32>, belay_index_2: u32, belay_index_3: u32) {
  for (; *k < sizes[belay_index_3].x; *k += 1u) {
    tile[belay_index_1][*k] = parts[belay_index_2].at[*k].x;
  }
}
