fn f() {
  {
    var i = 0u;
    loop {
      if (!(i < 3u)) {
        break;
      }
      {
        i++;
        if (i == 2u) {
          continue;
        }
      }
      continuing {
        a[i] += i;
      }
    }
  }
}
