fn f(i: u32) {
  if (a[i] == 0u) {
    let belay_value_5: u32 = 1u;
    a[i] = belay_value_5;
  } else {
    let belay_value_1 = atomicAdd(&n[0], 1u);
    if (belay_value_1 > 3u) {
      let belay_value_4: u32 = 2u;
      a[i] = belay_value_4;
    } else if (i > 3u) {
      let belay_value_3: u32 = 3u;
      a[i] = belay_value_3;
    } else {
      let belay_value_2: u32 = 4u;
      a[i] = belay_value_2;
    }
  }
}
