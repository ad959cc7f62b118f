fn f(i: u32) {
  {
    let p = &a[i];
    loop {
      if (!(*p < 3u)) {
        break;
      }
      {
        *p = 4u;
      }
    }
  }
}
