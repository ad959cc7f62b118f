// --- input

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {}

// --- passes: declareReport, enableSubgroups, comparison, comparison

fn all_uses(address: u32, value: u32, values: vec4<u32>) {
  _ = belay_agree1at(1u, 4u * address, value);
  _ = belay_agree4(2u, 4u, values);
  _ = belay_agree0at(3u, 4u * address);
  if ((belay_replica == 0u) | !belay_together()) {
    _ = belay_share1(4u, value);
  }
  _ = belay_share2(5u, values.xy);
  belay_signature = belay_fold4(belay_signature ^ 3041712678u ^ address, values);
  _ = belay_agree1(7u, 0u, belay_signature);
  belay_conclude(8u);
}

fn belay_together() -> bool {
  return any((subgroupBallot(true) & belay_partner) != vec4<u32>());
}

fn belay_agree1at(site: u32, address: u32, value: u32) -> bool {
  let their_address = subgroupShuffleXor(address, 1u);
  let their_value = subgroupShuffleXor(value, 1u);
  let together = belay_together();
  if (together & all(address == their_address) & all(value == their_value)) {
    return true;
  }
  let cause = select(2u, 1u, together);
  belay_record(site, cause, address, vec4<u32>(value, 0u, 0u, 0u));
  return false;
}

fn belay_agree4(site: u32, address: u32, value: vec4<u32>) -> bool {
  let their_value = subgroupShuffleXor(value, 1u);
  let together = belay_together();
  if (together & all(value == their_value)) {
    return true;
  }
  let cause = select(2u, 1u, together);
  belay_record(site, cause, address, vec4<u32>(value.x, value.y, value.z, value.w));
  return false;
}

fn belay_agree0at(site: u32, address: u32) -> bool {
  let their_address = subgroupShuffleXor(address, 1u);
  let together = belay_together();
  if (together & all(address == their_address)) {
    return true;
  }
  let cause = select(2u, 1u, together);
  belay_record(site, cause, address, vec4<u32>(0u, 0u, 0u, 0u));
  return false;
}

fn belay_share1(site: u32, value: u32) -> u32 {
  let theirs = subgroupShuffleXor(value, 1u);
  return select(value, theirs, (belay_replica != 0u) & belay_together());
}

fn belay_share2(site: u32, value: vec2<u32>) -> vec2<u32> {
  let theirs = subgroupShuffleXor(value, 1u);
  return select(value, theirs, (belay_replica != 0u) & belay_together());
}

var<private> belay_signature: u32;

fn belay_fold(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) * 0x9e3779b1u + word * 0x2c9277b5u;
}

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

fn belay_fold4(hash: u32, words: vec4<u32>) -> u32 {
  return belay_append(belay_append(belay_append(belay_fold(hash, words.x), words.y), words.z), words.w);
}

fn belay_agree1(site: u32, address: u32, value: u32) -> bool {
  let their_value = subgroupShuffleXor(value, 1u);
  let together = belay_together();
  if (together & all(value == their_value)) {
    return true;
  }
  let cause = select(2u, 1u, together);
  belay_record(site, cause, address, vec4<u32>(value, 0u, 0u, 0u));
  return false;
}

var<private> belay_tally: u32;

fn belay_conclude(site: u32) {
  if (subgroupShuffleXor(belay_signature + belay_tally, 1u) != belay_signature - belay_tally) {
    belay_record(site, 1u, 0u, vec4<u32>(belay_signature, 0u, 0u, 0u));
  }
}
