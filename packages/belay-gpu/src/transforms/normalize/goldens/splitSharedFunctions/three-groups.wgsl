// --- input

@group(0) @binding(0) var<storage, read_write> a: array<u32>;

fn leaf(i: u32) {
  a[i] = i;
}

fn inner(i: u32) {
  leaf(i);
}

@compute @workgroup_size(8)
fn safe() {
  inner(1u);
}

@compute @workgroup_size(8)
fn other() {
  leaf(2u);
  inner(3u);
}

@compute @workgroup_size(8)
fn plain() {
  leaf(4u);
}

// --- passes: splitSharedFunctions

fn belay_leaf_1(i: u32) {
  a[i] = i;
}

fn belay_leaf_2(i: u32) {
  a[i] = i;
}

fn belay_inner_1(i: u32) {
  belay_leaf_1(i);
}

@compute @workgroup_size(8)
fn other() {
  belay_leaf_1(2u);
  belay_inner_1(3u);
}

@compute @workgroup_size(8)
fn plain() {
  belay_leaf_2(4u);
}
