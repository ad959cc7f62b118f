// --- input

@compute @workgroup_size(64)
fn main() {}

// --- passes: interGroupChannel, interGroupChannel, interGroupChannel

var<private> belay_signature: u32;
var<private> belay_tally: u32;

fn belay_balance() {
  var hash = belay_signature ^ (belay_pair * 0x9e3779b1u + belay_local);
  hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
  hash ^= hash >> 16u;
  let share = select(0u - hash, hash, belay_replica == 0u) + belay_tally;
  atomicAdd(&belay_report.cells[(belay_pair * 32u + belay_local % 32u) & 63u], share);
}
