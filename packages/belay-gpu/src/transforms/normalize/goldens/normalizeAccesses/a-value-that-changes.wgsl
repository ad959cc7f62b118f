fn f(i: u32) {
  var x = i;
  let belay_value_1 = x;
  let belay_value_2: u32 = bump(&x);
  a[belay_value_1] = belay_value_2;
  let belay_value_3: u32 = x;
  a[i] = belay_value_3;
}
