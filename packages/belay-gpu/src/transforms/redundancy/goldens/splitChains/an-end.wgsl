// --- input

fn f(i: u32) -> u32 {
  var x = i;
  @diagnostic(off, derivative_uniformity) if (i == 0u) {
    x += 0u;
  } else if (i == 1u) {
    x += 1u;
  } else if (i == 2u) {
    x += 2u;
  } else if (i == 3u) {
    x += 3u;
  } else if (i == 4u) {
    x += 4u;
  } else if (i == 5u) {
    x += 5u;
  } else if (i == 6u) {
    x += 6u;
  } else if (i == 7u) {
    x += 7u;
  } else if (i == 8u) {
    x += 8u;
  } else if (i == 9u) {
    x += 9u;
  } else if (i == 10u) {
    x += 10u;
  } else if (i == 11u) {
    x += 11u;
  } else if (i == 12u) {
    x += 12u;
  } else if (i == 13u) {
    x += 13u;
  } else if (i == 14u) {
    x += 14u;
  } else if (i == 15u) {
    x += 15u;
  } else if (i == 16u) {
    x += 16u;
  } else if (i == 17u) {
    x += 17u;
  } else if (i == 18u) {
    x += 18u;
  } else if (i == 19u) {
    x += 19u;
  } else if (i == 20u) {
    x += 20u;
  } else if (i == 21u) {
    x += 21u;
  } else if (i == 22u) {
    x += 22u;
  } else if (i == 23u) {
    x += 23u;
  } else if (i == 24u) {
    x += 24u;
  } else if (i == 25u) {
    x += 25u;
  } else if (i == 26u) {
    x += 26u;
  } else if (i == 27u) {
    x += 27u;
  } else if (i == 28u) {
    x += 28u;
  } else if (i == 29u) {
    x += 29u;
  } else if (i == 30u) {
    x += 30u;
  } else if (i == 31u) {
    x += 31u;
  } else if (i == 32u) {
    x += 32u;
  } else if (i == 33u) {
    x += 33u;
  } else {
    x = 0u;
  }
  return x;
}

// --- passes: split

fn f(i: u32) -> u32 {
  var x = i;
  var belay_rest_1 = false;
  @diagnostic(off, derivative_uniformity) if (i == 0u) {
    x += 0u;
  } else if (i == 1u) {
    x += 1u;
  } else if (i == 2u) {
    x += 2u;
  } else if (i == 3u) {
    x += 3u;
  } else if (i == 4u) {
    x += 4u;
  } else if (i == 5u) {
    x += 5u;
  } else if (i == 6u) {
    x += 6u;
  } else if (i == 7u) {
    x += 7u;
  } else if (i == 8u) {
    x += 8u;
  } else if (i == 9u) {
    x += 9u;
  } else if (i == 10u) {
    x += 10u;
  } else if (i == 11u) {
    x += 11u;
  } else if (i == 12u) {
    x += 12u;
  } else if (i == 13u) {
    x += 13u;
  } else if (i == 14u) {
    x += 14u;
  } else if (i == 15u) {
    x += 15u;
  } else {
    belay_rest_1 = true;
  }
  if (belay_rest_1) {
    belay_rest_1 = false;
    @diagnostic(off, derivative_uniformity) if (i == 16u) {
      x += 16u;
    } else if (i == 17u) {
      x += 17u;
    } else if (i == 18u) {
      x += 18u;
    } else if (i == 19u) {
      x += 19u;
    } else if (i == 20u) {
      x += 20u;
    } else if (i == 21u) {
      x += 21u;
    } else if (i == 22u) {
      x += 22u;
    } else if (i == 23u) {
      x += 23u;
    } else if (i == 24u) {
      x += 24u;
    } else if (i == 25u) {
      x += 25u;
    } else if (i == 26u) {
      x += 26u;
    } else if (i == 27u) {
      x += 27u;
    } else if (i == 28u) {
      x += 28u;
    } else if (i == 29u) {
      x += 29u;
    } else if (i == 30u) {
      x += 30u;
    } else if (i == 31u) {
      x += 31u;
    } else {
      belay_rest_1 = true;
    }
  }
  if (belay_rest_1) {
    belay_rest_1 = false;
    @diagnostic(off, derivative_uniformity) if (i == 32u) {
      x += 32u;
    } else if (i == 33u) {
      x += 33u;
    } else {
      x = 0u;
    }
  }
  return x;
}
