fn f(i: u32) -> bool {
  var belay_condition_2 = i > 3u;
  if (belay_condition_2) {
    let belay_value_1 = atomicAdd(&n[0], 1u);
    belay_condition_2 = belay_value_1 > 4u;
  }
  var belay_condition_1 = belay_condition_2;
  if (belay_condition_1) {
    belay_condition_1 = next() > 2u;
  }
  let both = belay_condition_1;
  let belay_value_2 = atomicAdd(&n[0], 1u);
  var belay_condition_3 = belay_value_2 > 4u;
  if (!belay_condition_3) {
    var belay_condition_4 = i > 3u;
    if (belay_condition_4) {
      let belay_value_3 = atomicLoad(&n[1]);
      belay_condition_4 = belay_value_3 == 0u;
    }
    belay_condition_3 = belay_condition_4;
  }
  let either = belay_condition_3;
  var belay_condition_5 = both;
  if (!belay_condition_5) {
    let belay_value_4 = atomicLoad(&n[2]);
    belay_condition_5 = belay_value_4 > 0u;
  }
  let belay_value_5: bool = belay_condition_5;
  seen = belay_value_5;
  var belay_condition_6 = next() > 1u;
  if (!belay_condition_6) {
    let belay_value_6 = atomicLoad(&n[0]);
    belay_condition_6 = belay_value_6 > i;
  }
  return !belay_condition_6 & either;
}
