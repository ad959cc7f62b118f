fn bitcast_1(position: u32) -> u32 {
  return position;
}

fn workgroup_id(i: u32) -> u32 {
  return bitcast_1(i);
}
