fn f() {
  var x = 1u;
  var xs: array<u32, 4>;
  x += next();
  x++;
  let belay_value_1 = next();
  let belay_value_2 = xs[belay_value_1];
  let belay_value_3 = x;
  let belay_value_4 = atomicAdd(&n[0], belay_value_3);
  xs[belay_value_1] = belay_value_2 + belay_value_4;
  let belay_value_5 = x;
  let belay_value_6 = atomicLoad(&n[0]);
  x = belay_value_5 - belay_value_6;
  let belay_value_7 = atomicAdd(&n[0], 1u);
  xs[belay_value_7]++;
  let belay_value_8 = atomicLoad(&n[1]);
  count = belay_value_8;
}
