fn f() {
  var i = 0u;
  belay_put_1(u32(next(&i)), next(&i));
}

fn belay_put_1(belay_index_1: u32, v: u32) {
  a[belay_index_1] = v;
}
