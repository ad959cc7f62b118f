fn f() {
  {
    a[0] = 0u;
    loop {
      if (!(a[0] < 3u)) {
        break;
      }
      {}
      continuing {
        a[0]++;
      }
    }
  }
}
