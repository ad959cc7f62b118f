fn f(i: u32) {
  let belay_index_1 = i;
  belay_reset_1(u32(belay_index_1), i + 1u);
  belay_reset_2(i);
}

fn belay_clear_1(belay_index_3: u32, belay_index_4: u32) {
  for (var i = 0; i < 2; i++) {
    parts[belay_index_3].at[belay_index_4][i] = 0u;
  }
}

fn belay_clear_2(belay_index_5: u32) {
  for (var i = 0; i < 2; i++) {
    parts[belay_index_5].at[3][i] = 0u;
  }
}

fn belay_reset_1(belay_index_2: u32, i: u32) {
  parts[belay_index_2].mass = 0.0;
  belay_clear_1(u32(belay_index_2), u32(i));
  belay_clear_2(u32(belay_index_2));
}

fn belay_clear_3(belay_index_6: u32) {
  for (var i = 0; i < 2; i++) {
    parts[0].at[belay_index_6][i] = 0u;
  }
}

fn belay_clear_4() {
  for (var i = 0; i < 2; i++) {
    parts[0].at[3][i] = 0u;
  }
}

fn belay_reset_2(i: u32) {
  parts[0].mass = 0.0;
  belay_clear_3(u32(i));
  belay_clear_4();
}
