fn f() {
  var i = 0u;
  let belay_index_1 = next(&i);
  a[belay_index_1] = a[belay_index_1] + 1u;
}
