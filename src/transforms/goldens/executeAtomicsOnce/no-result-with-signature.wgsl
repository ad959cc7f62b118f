fn f(i: u32) {
  let belay_value_1 = i + 1u;
  let belay_value_2 = i32(i);
  belay_signature = belay_fold(belay_signature ^ 2654435761u ^ u32(belay_value_1), bitcast<u32>(belay_value_2));
  if (belay_replica == 0u) {
    atomicMax(&c[belay_value_1].low[2], belay_value_2);
  }
  belay_signature = belay_fold(belay_signature ^ 1013904226u, 1u);
  if (belay_replica == 0u) {
    atomicStore(&bins[3], 4u);
  }
}
