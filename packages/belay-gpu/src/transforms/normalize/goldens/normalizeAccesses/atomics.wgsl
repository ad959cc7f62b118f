fn f(i: u32) -> u32 {
  let belay_value_1 = next();
  let belay_value_2 = next();
  atomicAdd(&n[belay_value_1], belay_value_2);
  atomicStore(&n[i], 1u);
  let belay_value_3 = i + 1u;
  let x = atomicMax(&n[belay_value_3], i);
  let belay_value_4 = x + 1u;
  let belay_value_5 = atomicCompareExchangeWeak(&n[0], x, belay_value_4);
  let old = belay_value_5.old_value;
  let belay_value_6 = atomicLoad(&n[2]);
  let belay_value_7 = atomicAdd(&n[1], belay_value_6);
  let belay_value_8 = atomicAdd(&n[0], belay_value_7);
  _ = belay_value_8;
  let belay_value_9 = atomicLoad(&n[0]);
  var y = belay_value_9;
  let belay_value_10 = y;
  let belay_value_11 = atomicExchange(&n[3], belay_value_10);
  return old + belay_value_11;
}
