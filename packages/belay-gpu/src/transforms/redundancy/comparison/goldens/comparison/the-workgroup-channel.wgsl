// --- input

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {}

// --- passes: declareReport, comparison, comparison

fn all_uses(address: u32, value: u32, values: vec4<u32>) {
  _ = belay_agree1at(1u, 4u * address, value);
  _ = belay_agree4(2u, 4u, values);
  _ = belay_agree0at(3u, 4u * address);
  if ((belay_replica == 0u) | belay_alone) {
    _ = belay_share1(4u, value);
  }
  _ = belay_share2(5u, values.xy);
  belay_signature = belay_fold4(belay_signature ^ 3041712678u ^ address, values);
  _ = belay_agree1(7u, 0u, belay_signature);
  belay_conclude(8u);
}

var<private> belay_alone: bool;
var<private> belay_turn: u32;

fn belay_fold(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) * 0x9e3779b1u + word * 0x2c9277b5u;
}

var<workgroup> belay_slots: array<atomic<u32>, 4u * 64u>;

fn belay_agree1at(site: u32, address: u32, value: u32) -> bool {
  if (belay_alone) {
    return false;
  }
  belay_turn += 1u;
  let word = belay_fold(belay_fold(site ^ (belay_turn << 8u), address), value);
  let mine = belay_turn % 4u * 64u + 2u * belay_local + belay_replica;
  atomicStore(&belay_slots[mine], word);
  for (var i = 0u; i < 65536u; i++) {
    if (atomicLoad(&belay_slots[mine ^ 1u]) == word) {
      return true;
    }
  }
  belay_alone = true;
  belay_record(site, 1u, address, vec4<u32>(value, 0u, 0u, 0u));
  return false;
}

fn belay_agree4(site: u32, address: u32, value: vec4<u32>) -> bool {
  if (belay_alone) {
    return false;
  }
  belay_turn += 1u;
  let word = belay_fold(belay_fold(belay_fold(belay_fold(site ^ (belay_turn << 8u), value.x), value.y), value.z), value.w);
  let mine = belay_turn % 4u * 64u + 2u * belay_local + belay_replica;
  atomicStore(&belay_slots[mine], word);
  for (var i = 0u; i < 65536u; i++) {
    if (atomicLoad(&belay_slots[mine ^ 1u]) == word) {
      return true;
    }
  }
  belay_alone = true;
  belay_record(site, 1u, address, vec4<u32>(value.x, value.y, value.z, value.w));
  return false;
}

fn belay_agree0at(site: u32, address: u32) -> bool {
  if (belay_alone) {
    return false;
  }
  belay_turn += 1u;
  let word = belay_fold(site ^ (belay_turn << 8u), address);
  let mine = belay_turn % 4u * 64u + 2u * belay_local + belay_replica;
  atomicStore(&belay_slots[mine], word);
  for (var i = 0u; i < 65536u; i++) {
    if (atomicLoad(&belay_slots[mine ^ 1u]) == word) {
      return true;
    }
  }
  belay_alone = true;
  belay_record(site, 1u, address, vec4<u32>(0u, 0u, 0u, 0u));
  return false;
}

fn belay_share1(site: u32, value: u32) -> u32 {
  if (belay_alone) {
    return value;
  }
  belay_turn += 1u;
  let key = belay_fold(site, belay_turn);
  let first = belay_turn % 4u * 64u + 2u * belay_local;
  if (belay_replica == 0u) {
    atomicStore(&belay_slots[first], value ^ key);
    atomicStore(&belay_slots[first + 1u], value ^ ~(key >> 1u));
    return value;
  }
  for (var i = 0u; i < 65536u; i++) {
    let received = atomicLoad(&belay_slots[first]) ^ key;
    if (atomicLoad(&belay_slots[first + 1u]) == (received ^ ~(key >> 1u))) {
      return received;
    }
  }
  belay_alone = true;
  belay_record(site, 2u, 0u, vec4<u32>(value));
  return value;
}

fn belay_share2(site: u32, value: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(belay_share1(site, value.x), belay_share1(site, value.y));
}

var<private> belay_signature: u32;

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

fn belay_fold4(hash: u32, words: vec4<u32>) -> u32 {
  return belay_append(belay_append(belay_append(belay_fold(hash, words.x), words.y), words.z), words.w);
}

fn belay_agree1(site: u32, address: u32, value: u32) -> bool {
  if (belay_alone) {
    return false;
  }
  belay_turn += 1u;
  let word = belay_fold(site ^ (belay_turn << 8u), value);
  let mine = belay_turn % 4u * 64u + 2u * belay_local + belay_replica;
  atomicStore(&belay_slots[mine], word);
  for (var i = 0u; i < 65536u; i++) {
    if (atomicLoad(&belay_slots[mine ^ 1u]) == word) {
      return true;
    }
  }
  belay_alone = true;
  belay_record(site, 1u, address, vec4<u32>(value, 0u, 0u, 0u));
  return false;
}

var<private> belay_tally: u32;
var<workgroup> belay_finals: array<atomic<u32>, 64u / 2u>;

fn belay_conclude(site: u32) {
  atomicAdd(&belay_finals[belay_local], select(0u - belay_signature, belay_signature, belay_replica == 0u) + belay_tally);
  workgroupBarrier();
  if (atomicLoad(&belay_finals[belay_local]) != 0u) {
    belay_record(site, 1u, 0u, vec4<u32>(belay_signature, 0u, 0u, 0u));
  }
}
