fn f(i: u32) {
  let belay_value_1 = next();
  let belay_value_2: u32 = next();
  a[belay_value_1] = belay_value_2;
  a[i] = i;
  let belay_value_3: u32 = 3;
  a[2] = belay_value_3;
  let v = i + 1u;
  a[v] = v;
}
