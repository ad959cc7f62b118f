// --- input

var<workgroup> tile: u32;

const tile_1 = 1;

fn f(tile: u32) -> u32 {
  let x = tile;
  {
    var tile = x;
    tile += tile_1;
    return tile;
  }
}

fn g() -> u32 {
  return tile + f(tile);
}

// --- passes: unique

fn f(tile_2: u32) -> u32 {
  let x = tile_2;
  {
    var tile_3 = x;
    tile_3 += tile_1;
    return tile_3;
  }
}
