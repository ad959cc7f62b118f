// --- input

override min: u32 = 4;
override select_1 = 2 * min;
@id(3) override array = 3u;

@compute @workgroup_size(min, select_1)
fn select() {
  let select = min + array;
  _ = select;
}

@fragment
fn all() {}

@compute @workgroup_size(1)
fn transpose() {}

// --- passes: unique

override min_1: u32 = 4;
override select_1 = 2 * min_1;
@id(3) override array_1 = 3u;

@compute @workgroup_size(min_1, select_1)
fn select_2() {
  let select_3 = min_1 + array_1;
  _ = select_3;
}

@fragment
fn all_1() {}
