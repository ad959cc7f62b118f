fn f(tile_2: u32) -> u32 {
  let x = tile_2;
  {
    var tile_3 = x;
    tile_3 += tile_1;
    return tile_3;
  }
}
