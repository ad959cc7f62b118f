// --- input

fn bitcast(position: u32) -> u32 {
  return position;
}

fn workgroup_id(i: u32) -> u32 {
  return bitcast(i);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) id: vec3u) {
  _ = workgroup_id(id.x);
}

// --- passes: unique

fn bitcast_1(position: u32) -> u32 {
  return position;
}

fn workgroup_id(i: u32) -> u32 {
  return bitcast_1(i);
}
