// --- input

fn f(i: u32) -> u32 {
  var x = i;
  if (i == 0u) {
    if (i == 0u) {
      x++;
    } else if (i == 1u) {
      x++;
    } else if (i == 2u) {
      x++;
    } else if (i == 3u) {
      x++;
    } else if (i == 4u) {
      x++;
    } else if (i == 5u) {
      x++;
    } else if (i == 6u) {
      x++;
    } else if (i == 7u) {
      x++;
    } else if (i == 8u) {
      x++;
    } else if (i == 9u) {
      x++;
    } else if (i == 10u) {
      x++;
    } else if (i == 11u) {
      x++;
    } else if (i == 12u) {
      x++;
    } else if (i == 13u) {
      x++;
    } else if (i == 14u) {
      x++;
    } else if (i == 15u) {
      x++;
    } else if (i == 16u) {
      x++;
    }
  } else if (i == 1u) {} else if (i == 2u) {} else if (i == 3u) {} else if (i == 4u) {} else if (i == 5u) {} else if (i == 6u) {} else if (i == 7u) {} else if (i == 8u) {} else if (i == 9u) {} else if (i == 10u) {} else if (i == 11u) {} else if (i == 12u) {} else if (i == 13u) {} else if (i == 14u) {} else if (i == 15u) {} else if (i == 16u) {}
  return x;
}

// --- passes: split

fn f(i: u32) -> u32 {
  var x = i;
  var belay_rest_2 = false;
  if (i == 0u) {
    var belay_rest_1 = false;
    if (i == 0u) {
      x++;
    } else if (i == 1u) {
      x++;
    } else if (i == 2u) {
      x++;
    } else if (i == 3u) {
      x++;
    } else if (i == 4u) {
      x++;
    } else if (i == 5u) {
      x++;
    } else if (i == 6u) {
      x++;
    } else if (i == 7u) {
      x++;
    } else if (i == 8u) {
      x++;
    } else if (i == 9u) {
      x++;
    } else if (i == 10u) {
      x++;
    } else if (i == 11u) {
      x++;
    } else if (i == 12u) {
      x++;
    } else if (i == 13u) {
      x++;
    } else if (i == 14u) {
      x++;
    } else if (i == 15u) {
      x++;
    } else {
      belay_rest_1 = true;
    }
    if (belay_rest_1) {
      belay_rest_1 = false;
      if (i == 16u) {
        x++;
      }
    }
  } else if (i == 1u) {} else if (i == 2u) {} else if (i == 3u) {} else if (i == 4u) {} else if (i == 5u) {} else if (i == 6u) {} else if (i == 7u) {} else if (i == 8u) {} else if (i == 9u) {} else if (i == 10u) {} else if (i == 11u) {} else if (i == 12u) {} else if (i == 13u) {} else if (i == 14u) {} else if (i == 15u) {} else {
    belay_rest_2 = true;
  }
  if (belay_rest_2) {
    belay_rest_2 = false;
    if (i == 16u) {}
  }
  return x;
}
