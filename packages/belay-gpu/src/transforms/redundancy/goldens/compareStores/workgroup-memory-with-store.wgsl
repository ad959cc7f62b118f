fn f(i: u32) {
  let belay_value_1: vec2<bool> = vec2(i > 3u, tile[0].x);
  if (belay_agree2at(1u, (u32(i) << 3u) | (u32(i) >> 29u), vec2<u32>(belay_value_1))) {
    tile[i] = belay_value_1;
  }
  let belay_value_2: bool = true;
  if (belay_agree0(2u, 0u)) {
    tile[0].x = belay_value_2;
  }
}
