fn f(l: u32, x: vec3f) {
  let belay_value_1: f32 = x.y;
  tile[l] = belay_strike_f32(1u, belay_value_1);
  parts[l].at = belay_strike_vec3f32(2u, x);
  let belay_value_2: f32 = 2.0;
  parts[l].at.y = belay_strike_f32(3u, belay_value_2);
  let old = atomicAdd(&parts[l].hits, 3);
  if (belay_is_hit(4u)) {
    belay_struck = bitcast<u32>(atomicLoad(&parts[l].hits));
    atomicAnd(&parts[l].hits, bitcast<i32>(~belay_struck_clear));
    atomicXor(&parts[l].hits, bitcast<i32>(belay_struck_mask));
  }
  atomicStore(&parts[0].hits, old);
  if (belay_is_hit(5u)) {
    belay_struck = bitcast<u32>(atomicLoad(&parts[0].hits));
    atomicAnd(&parts[0].hits, bitcast<i32>(~belay_struck_clear));
    atomicXor(&parts[0].hits, bitcast<i32>(belay_struck_mask));
  }
}

@compute @workgroup_size(8)
fn main() {
  let belay_value_3: f32 = 0.0;
  tile[0] = belay_strike_f32(6u, belay_value_3);
  f(1u, vec3f());
}
