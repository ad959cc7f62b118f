fn f(i: u32) {
  let belay_value_1: vec2<u32> = a[i + 1u] * 2u;
  if (belay_agree2at(1u, (u32(i) << 3u) | (u32(i) >> 29u), bitcast<vec2<u32>>(belay_value_1))) {
    a[i] = belay_value_1;
  }
  for (var k = 0u; k < i; k++) {
    if (k == 3u) {
      let belay_value_2 = k;
      let belay_value_3: u32 = k;
      if (belay_agree1at(2u, ((u32(belay_value_2) << 3u) | (u32(belay_value_2) >> 29u)) + 4u, belay_value_3)) {
        a[belay_value_2].y = belay_value_3;
      }
    }
  }
}
