// --- input

fn f(i: u32) -> u32 {
  if (i == 0u) {
    return 0u;
  } else if (i == 1u) {
    return 1u;
  } else if (i == 2u) {
    return 2u;
  } else if (i == 3u) {
    return 3u;
  } else if (i == 4u) {
    return 4u;
  } else if (i == 5u) {
    return 5u;
  } else if (i == 6u) {
    return 6u;
  } else if (i == 7u) {
    return 7u;
  } else if (i == 8u) {
    return 8u;
  } else if (i == 9u) {
    return 9u;
  } else if (i == 10u) {
    return 10u;
  } else if (i == 11u) {
    return 11u;
  } else if (i == 12u) {
    return 12u;
  } else if (i == 13u) {
    return 13u;
  } else if (i == 14u) {
    return 14u;
  } else if (i == 15u) {
    return 15u;
  } else if (i == 16u) {
    return 16u;
  } else if (i == 17u) {
    return 17u;
  } else if (i == 18u) {
    return 18u;
  } else if (i == 19u) {
    return 19u;
  } else if (i == 20u) {
    return 20u;
  } else if (i == 21u) {
    return 21u;
  } else if (i == 22u) {
    return 22u;
  } else if (i == 23u) {
    return 23u;
  } else if (i == 24u) {
    return 24u;
  } else if (i == 25u) {
    return 25u;
  } else if (i == 26u) {
    return 26u;
  } else if (i == 27u) {
    return 27u;
  } else if (i == 28u) {
    return 28u;
  } else if (i == 29u) {
    return 29u;
  } else if (i == 30u) {
    return 30u;
  } else if (i == 31u) {
    return 31u;
  } else if (i == 32u) {
    return 32u;
  } else {
    return 1u;
  }
}

// --- passes: split

fn f(i: u32) -> u32 {
  var belay_rest_1 = false;
  if (i == 0u) {
    return 0u;
  } else if (i == 1u) {
    return 1u;
  } else if (i == 2u) {
    return 2u;
  } else if (i == 3u) {
    return 3u;
  } else if (i == 4u) {
    return 4u;
  } else if (i == 5u) {
    return 5u;
  } else if (i == 6u) {
    return 6u;
  } else if (i == 7u) {
    return 7u;
  } else if (i == 8u) {
    return 8u;
  } else if (i == 9u) {
    return 9u;
  } else if (i == 10u) {
    return 10u;
  } else if (i == 11u) {
    return 11u;
  } else if (i == 12u) {
    return 12u;
  } else if (i == 13u) {
    return 13u;
  } else if (i == 14u) {
    return 14u;
  } else if (i == 15u) {
    return 15u;
  } else {
    belay_rest_1 = true;
  }
  if (i == 16u) {
    return 16u;
  } else if (i == 17u) {
    return 17u;
  } else if (i == 18u) {
    return 18u;
  } else if (i == 19u) {
    return 19u;
  } else if (i == 20u) {
    return 20u;
  } else if (i == 21u) {
    return 21u;
  } else if (i == 22u) {
    return 22u;
  } else if (i == 23u) {
    return 23u;
  } else if (i == 24u) {
    return 24u;
  } else if (i == 25u) {
    return 25u;
  } else if (i == 26u) {
    return 26u;
  } else if (i == 27u) {
    return 27u;
  } else if (i == 28u) {
    return 28u;
  } else if (i == 29u) {
    return 29u;
  } else if (i == 30u) {
    return 30u;
  } else if (i == 31u) {
    return 31u;
  } else {
    belay_rest_1 = true;
  }
  if (i == 32u) {
    return 32u;
  } else {
    return 1u;
  }
}
