fn f() {
  var i = 0u;
  loop {
    if (i == 2u) {
      continue;
    }
    let belay_value_4 = i;
    let belay_value_5: u32 = i;
    a[belay_value_4] = belay_value_5;
    continuing {
      i++;
      let belay_value_1 = i;
      let belay_value_2: u32 = a[belay_value_1] + 1u;
      a[belay_value_1] = belay_value_2;
      let belay_value_3 = atomicAdd(&n[0], 1u);
      var belay_condition_1 = belay_value_3 > i;
      if (!belay_condition_1) {
        belay_condition_1 = i > 5u;
      }
      break if belay_condition_1;
    }
  }
  loop {
    i++;
    continuing {
      let belay_value_6 = atomicLoad(&n[0]);
      break if belay_value_6 > 3u;
    }
  }
}
