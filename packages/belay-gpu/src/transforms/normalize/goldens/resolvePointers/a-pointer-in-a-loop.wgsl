fn f() {
  var i = 0u;
  loop {
    let belay_index_1 = i;
    if (a[belay_index_1] > 3u) {
      continue;
    }
    a[belay_index_1] = 4u;
    continuing {
      a[belay_index_1] += 1u;
      i++;
      break if a[belay_index_1] > 9u;
    }
  }
  {
    let belay_index_2 = i;
    loop {
      if (!(a[belay_index_2] < 3u)) {
        break;
      }
      {
        a[a[belay_index_2]] = i;
      }
      continuing {
        a[belay_index_2] += 1u;
      }
    }
  }
}
