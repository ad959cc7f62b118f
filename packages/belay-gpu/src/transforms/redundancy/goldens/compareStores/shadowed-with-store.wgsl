@compute @workgroup_size(2u * 64u, 1u, 1u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let l: u32 = belay_local;
    f(l);
  }
  belay_conclude(1u);
}

fn f(i: u32) {
  let belay_value_1: vec2<u32> = a[i + 1u] * 2u;
  if (belay_agree2at(2u, (u32(i) << 3u) | (u32(i) >> 29u), bitcast<vec2<u32>>(belay_value_1))) {
    a[i] = belay_value_1;
  }
  if (belay_agree1at(3u, (u32(i) << 2u) | (u32(i) >> 30u), i)) {
    belay_weight *= 0x9e3779b1u;
    belay_tally -= belay_weight;
    if (belay_replica == 0u) {
      out[i] = i;
      belay_tally += 2u * belay_weight;
    }
  }
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;
