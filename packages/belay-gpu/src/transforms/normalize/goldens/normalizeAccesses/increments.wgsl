fn f(i: i32) {
  let belay_value_1 = next();
  let belay_value_2: u32 = a[belay_value_1] + 1;
  a[belay_value_1] = belay_value_2;
  let belay_value_3: u32 = a[i] - 1;
  a[i] = belay_value_3;
}
