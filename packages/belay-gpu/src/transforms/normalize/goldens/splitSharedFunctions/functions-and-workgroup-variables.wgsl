// --- input

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
var<workgroup> tile: array<u32, 8>;
var<workgroup> other: u32;
var<private> mine: u32;

fn leaf(i: u32) -> u32 {
  return tile[i] + mine;
}

fn inner(i: u32) {
  a[i] = leaf(i) + leaf(i + 1u);
}

fn alone() {
  other = leaf(2u);
}

fn elsewhere() {
  a[0] = 1u;
}

@compute @workgroup_size(8)
fn safe() {
  inner(1u);
  elsewhere();
}

@compute @workgroup_size(8)
fn plain() {
  inner(2u);
  alone();
}

// --- passes: splitSharedFunctions

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
