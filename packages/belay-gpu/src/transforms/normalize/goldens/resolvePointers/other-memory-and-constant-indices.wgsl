fn f(i: i32) -> u32 {
  const two = 2;
  let belay_index_1 = two;
  let belay_index_2 = -1 + two;
  tile[belay_index_1][i] = sizes[belay_index_2].y;
  return tile[belay_index_1][3] + workgroupUniformLoad(&tile[belay_index_1])[1] + sizes[belay_index_2][i];
}
