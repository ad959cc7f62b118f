// --- input

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {}

// --- passes: declareReport, enableSubgroups, comparison

fn all_uses() {
  belay_keep();
  belay_conclude(8u);
}

var<private> belay_signature: u32;
var<private> belay_tally: u32;
var<private> belay_lane: u32;
var<private> belay_kept: u32;
var<private> belay_whose: u32;
var<private> belay_weight: u32 = 1u;

fn belay_keep() {
  belay_kept = belay_signature + belay_tally;
  belay_whose = belay_local;
  belay_signature = 0u;
  belay_tally = 0u;
  belay_weight = 1u;
}

fn belay_conclude(site: u32) {
  let theirs = select(subgroupShuffleXor(belay_kept, 1u), belay_kept, belay_whose == belay_lane);
  if (theirs != belay_signature - belay_tally) {
    belay_record(site, 1u, 0u, vec4<u32>(belay_signature, 0u, 0u, 0u));
    belay_replica = 1u;
    belay_record(site, 1u, 0u, vec4<u32>(theirs + belay_tally, 0u, 0u, 0u));
  }
}
