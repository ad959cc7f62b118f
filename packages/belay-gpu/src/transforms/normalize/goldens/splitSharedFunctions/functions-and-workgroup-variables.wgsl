var<workgroup> tile_1: array<u32, 8>;

fn belay_leaf_1(i: u32) -> u32 {
  return tile_1[i] + mine;
}

fn belay_inner_1(i: u32) {
  a[i] = belay_leaf_1(i) + belay_leaf_1(i + 1u);
}

fn alone() {
  other = belay_leaf_1(2u);
}

@compute @workgroup_size(8)
fn plain() {
  belay_inner_1(2u);
  alone();
}
