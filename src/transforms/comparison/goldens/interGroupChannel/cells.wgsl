var<private> belay_signature: u32;

fn belay_fold(hash: u32, word: u32) -> u32 {
  return ((hash << 13u) | (hash >> 19u)) * 0x2c9277b5u + word;
}

fn belay_balance() {
  if (belay_signature == 0u) {
    return;
  }
  var hash = belay_fold(belay_fold(belay_signature, belay_pair), belay_local);
  hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
  hash ^= hash >> 16u;
  let share = select(hash, 0u - hash, belay_replica == 1u);
  atomicAdd(&belay_report.cells[(belay_pair * 32u + belay_local % 32u) & 63u], share);
}
