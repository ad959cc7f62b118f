fn f(x: u32) {
  loop {
    if (!(x > 3u && atomicAdd(&n[0], 1u) < x)) {
      break;
    }
    {
      if (a[x] == 0u) {
        continue;
      }
      a[x] = 1u;
    }
  }
}
