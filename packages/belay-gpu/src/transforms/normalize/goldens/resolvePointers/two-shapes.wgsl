fn f(i: u32, j: i32) -> u32 {
  return belay_add_1(u32(i), 1u) + belay_add_1(u32(j), 2u) + belay_add_2(u32(i), u32(j + 1), 3u) + belay_add_3(4u);
}

fn belay_add_1(belay_index_1: u32, n: u32) -> u32 {
  a[belay_index_1] += n;
  return a[belay_index_1];
}

fn belay_add_2(belay_index_2: u32, belay_index_3: u32, n: u32) -> u32 {
  parts[belay_index_2].hits[belay_index_3] += n;
  return parts[belay_index_2].hits[belay_index_3];
}

fn belay_add_3(n: u32) -> u32 {
  a[7] += n;
  return a[7];
}
