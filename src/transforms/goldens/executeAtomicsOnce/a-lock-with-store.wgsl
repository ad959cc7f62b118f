fn f(i: u32) {
  _ = belay_agree0(1u, 0u);
  var belay_result_1: u32;
  if ((belay_replica == 0u) | belay_alone) {
    belay_result_1 = atomicExchange(&bins[0], 1u);
  }
  let belay_value_1 = bitcast<u32>(belay_share1(1u, bitcast<u32>(belay_result_1)));
  if (belay_value_1 == 0u) {
    let belay_value_2: u32 = total + i;
    total = belay_value_2;
    _ = belay_agree0(2u, 0u);
    if (belay_replica == 0u) {
      atomicStore(&bins[0], 0u);
    }
  }
}
