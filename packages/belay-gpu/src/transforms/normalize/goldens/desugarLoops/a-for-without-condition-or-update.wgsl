fn f() {
  {
    var i = atomicAdd(&n[0], 1u);
    loop {
      {
        if (i > 3u) {
          break;
        }
        i++;
      }
    }
  }
}
