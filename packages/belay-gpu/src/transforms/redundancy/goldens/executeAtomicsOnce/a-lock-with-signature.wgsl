fn f(i: u32) {
  belay_signature = belay_fold(belay_signature ^ 2654435761u, 1u);
  _ = belay_agree1(1u, 0u, belay_signature);
  var belay_result_1: u32;
  belay_weight *= 0x9e3779b1u;
  belay_tally -= belay_weight;
  if ((belay_replica == 0u) | belay_alone) {
    belay_result_1 = atomicExchange(&bins[0], 1u);
    belay_tally += 2u * belay_weight;
  }
  let belay_value_1 = bitcast<u32>(belay_share1(1u, bitcast<u32>(belay_result_1)));
  if (belay_value_1 == 0u) {
    let belay_value_2: u32 = total + i;
    total = belay_value_2;
    belay_signature = belay_fold(belay_signature ^ 1013904226u, 1u);
    _ = belay_agree1(2u, 0u, belay_signature);
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      atomicStore(&bins[0], 0u);
      belay_tally += 2u * belay_weight;
    }
  }
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;
