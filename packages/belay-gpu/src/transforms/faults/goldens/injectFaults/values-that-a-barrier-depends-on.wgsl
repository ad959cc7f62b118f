fn f(i: u32) {
  let rounds = size / 2u;
  var stride = rounds + 1u;
  while (stride > 0u) {
    let belay_value_1: u32 = belay_strike_u32(3u, belay_load_1(i + stride) * 2u);
    if (!belay_is_hit(5u)) {
      let belay_index_3 = belay_strike_u32(4u, i);
      a[belay_index_3] = belay_value_1;
    }
    workgroupBarrier();
    stride = stride / 2u;
    stride -= size;
  }
}

fn belay_load_1(belay_index_1: u32) -> u32 {
  let belay_index_2 = belay_strike_u32(1u, belay_index_1);
  return belay_strike_load_u32(2u, u32(belay_index_2) * 4u / 128u, a[belay_index_2]);
}
