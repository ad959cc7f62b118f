@compute @workgroup_size(8)
fn main() {
  let belay_value_3: f32 = 0.0;
  tile[0] = belay_strike_f32(1u, belay_value_3);
  f(1u, vec3f());
}
