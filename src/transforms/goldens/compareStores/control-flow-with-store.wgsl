fn f(i: u32) {
  var k = i;
  loop {
    switch (k) {
      case 1: {
        break;
      }
      default: {
        let belay_value_2 = k;
        if (belay_agree1at(1u, (u32(belay_value_2) << 2u) | (u32(belay_value_2) >> 30u), i) && belay_replica == 0u) {
          out[belay_value_2] = i;
        }
      }
    }
    continuing {
      k++;
      let belay_value_1: u32 = k;
      if (belay_agree1(2u, 0u, belay_value_1) && belay_replica == 0u) {
        out[0] = belay_value_1;
      }
      break if k > 9u;
    }
  }
}
