fn f() -> u32 {
  return belay_biggest_1() + belay_biggest_1();
}

@must_use
fn belay_biggest_1() -> u32 {
  const first = 0;
  let n = arrayLength(&a);
  var most = a[first];
  for (var i = 1u; i < n; i++) {
    let x = a[i];
    most = max(most, x);
  }
  return most;
}
