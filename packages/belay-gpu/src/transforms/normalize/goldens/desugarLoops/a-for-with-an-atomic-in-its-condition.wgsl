fn f(i: u32) {
  {
    var i = 0u;
    loop {
      if (!(i < atomicLoad(&n[1]))) {
        break;
      }
      {
        let i = i + 1u;
        a[i] = i;
      }
      continuing {
        i++;
      }
    }
  }
  a[i] = 0u;
}
