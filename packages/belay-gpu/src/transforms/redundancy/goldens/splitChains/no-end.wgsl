// --- input

fn f(i: u32) -> u32 {
  var x = 0u;
  loop {
    if (i == 0u) {
      x += 0u;
    } else if (i == 1u) {
      x += 1u;
    } else if (i == 2u) {
      x += 2u;
    } else if (i == 3u) {
      continue;
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
    }
    break;
  }
  return x;
}

// --- passes: split

fn f(i: u32) -> u32 {
  var x = 0u;
  loop {
    var belay_rest_1 = false;
    if (i == 0u) {
      x += 0u;
    } else if (i == 1u) {
      x += 1u;
    } else if (i == 2u) {
      x += 2u;
    } else if (i == 3u) {
      continue;
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
      if (i == 16u) {
        x += 16u;
      }
    }
    break;
  }
  return x;
}
