// --- input

@id(7) override max: u32 = 4;

@compute @workgroup_size(max)
fn main() {
  let main = max;
}

// --- passes: unique

@id(7) override max_1: u32 = 4;

@compute @workgroup_size(max_1)
fn main() {
  let main_1 = max_1;
}
