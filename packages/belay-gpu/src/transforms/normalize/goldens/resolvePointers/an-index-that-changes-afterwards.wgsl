fn f() {
  var i = 0u;
  let belay_index_1 = i;
  i++;
  a[belay_index_1] = i;
  i++;
  a[belay_index_1] += 1u;
}
