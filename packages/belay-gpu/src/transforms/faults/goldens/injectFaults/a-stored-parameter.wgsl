fn f(i: u32) {
  if (!belay_is_hit(3u)) {
    let belay_index_1 = belay_strike_u32(2u, i);
    let belay_value_1 = belay_strike_u32(1u, i);
    a[belay_index_1] = belay_value_1;
  }
}
