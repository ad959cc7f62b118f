fn f() {
  let belay_value_1 = next();
  let belay_value_2: u32 = a[belay_value_1] + next() * 2u;
  a[belay_value_1] = belay_value_2;
  let belay_value_3: u32 = a[0] << 1u;
  a[0] = belay_value_3;
  let belay_value_4 = a[1];
  let belay_value_5 = atomicOr(&n[0], 4u);
  let belay_value_6: u32 = belay_value_4 | belay_value_5;
  a[1] = belay_value_6;
  let belay_value_7 = atomicAdd(&n[1], 1u);
  let belay_value_8: u32 = a[belay_value_7] - a[2];
  a[belay_value_7] = belay_value_8;
}
