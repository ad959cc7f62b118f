fn f() -> u32 {
  var xs: array<u32, 4>;
  let belay_value_1 = atomicAdd(&n[0], 1u);
  let x = a[belay_value_1];
  let belay_value_2 = atomicAdd(&n[0], 1u);
  let at = parts[belay_value_2].at.xy;
  let belay_value_3 = atomicLoad(&n[0]);
  let belay_value_4 = x + xs[belay_value_3] + u32(at.x);
  let belay_value_5 = atomicLoad(&n[1]);
  return belay_value_4 + u32(parts[0].flags[belay_value_5]);
}
