fn f() -> u32 {
  let belay_value_1 = atomicLoad(&n[0]);
  switch (belay_value_1) {
    case 0, 1: {
      let belay_value_2: u32 = a[0] + 1u;
      a[0] = belay_value_2;
    }
    case 2, default: {}
  }
  let belay_value_3 = atomicLoad(&n[1]);
  switch (i32(twice(belay_value_3))) {
    default: {
      let belay_value_4 = twice(next());
      let belay_value_5 = atomicLoad(&n[2]);
      return twice(belay_value_4 + belay_value_5);
    }
  }
}
