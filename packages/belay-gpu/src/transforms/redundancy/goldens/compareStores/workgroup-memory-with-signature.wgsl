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
  let belay_value_1: vec2<bool> = vec2(i > 3u, tile[0].x);
  belay_signature = belay_fold2(belay_signature ^ 1013904226u ^ u32(i), vec2<u32>(belay_value_1));
  if (belay_agree1(2u, 0u, belay_signature)) {
    tile[i] = belay_value_1;
  }
  let belay_value_2: bool = true;
  belay_signature = belay_fold(belay_signature ^ 3668339987u, 1u);
  if (belay_agree1(3u, 0u, belay_signature)) {
    tile[0].x = belay_value_2;
  }
}

var<private> belay_tally: u32;

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}
