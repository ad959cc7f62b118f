fn f(i: u32) {
  let belay_value_1: vec2<u32> = a[i + 1u] * 2u;
  if (belay_agree2at(1u, (u32(i) << 3u) | (u32(i) >> 29u), bitcast<vec2<u32>>(belay_value_1))) {
    a[i] = belay_value_1;
  }
  if (belay_agree1at(2u, (u32(i) << 2u) | (u32(i) >> 30u), i) && belay_replica == 0u) {
    out[i] = i;
  }
}
