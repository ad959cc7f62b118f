fn f() -> u32 {
  var i = 1u;
  let belay_value_1 = bump(&i);
  let belay_value_2 = i;
  let belay_value_3 = i;
  let belay_value_4 = bump(&i);
  let belay_value_5 = atomicAdd(&n[belay_value_3], belay_value_4);
  let x = belay_value_1 + belay_value_2 * belay_value_5 + bump(&i);
  let belay_value_6 = i;
  let belay_value_7 = atomicLoad(&n[0]);
  let belay_value_8 = vec3u(belay_value_6, belay_value_7, i).xyz;
  let belay_value_9 = atomicLoad(&n[1]);
  let y = belay_value_8[belay_value_9];
  let belay_value_10 = -i32(a[0]);
  let belay_value_11 = atomicLoad(&n[0]);
  let z = belay_value_10 + i32(belay_value_11);
  return x + y + u32(z) + i;
}
