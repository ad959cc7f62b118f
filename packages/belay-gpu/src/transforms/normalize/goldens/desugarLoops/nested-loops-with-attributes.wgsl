fn f() {
  @diagnostic(off, derivative_uniformity) loop {
    if (!(atomicLoad(&n[0]) > 0u)) {
      break;
    }
    @diagnostic(warning, derivative_uniformity) {
      {
        var i = 0u;
        loop {
          if (!(i < 2u)) {
            break;
          }
          {
            i++;
          }
          continuing {
            atomicAdd(&n[i], 1u);
          }
        }
      }
    }
  }
}
