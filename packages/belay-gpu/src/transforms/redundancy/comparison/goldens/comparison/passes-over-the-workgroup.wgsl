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
var<workgroup> belay_finals: array<u32, 32u>;
var<private> belay_weight: u32 = 1u;

fn belay_keep() {
  belay_finals[belay_local] = belay_signature + belay_tally;
  belay_signature = 0u;
  belay_tally = 0u;
  belay_weight = 1u;
}

fn belay_conclude(site: u32) {
  workgroupBarrier();
  let theirs = belay_finals[belay_lane];
  if (theirs != belay_signature - belay_tally) {
    belay_record(site, 1u, 0u, vec4<u32>(belay_signature, 0u, 0u, 0u));
    belay_replica = 1u;
    belay_record(site, 1u, 0u, vec4<u32>(theirs + belay_tally, 0u, 0u, 0u));
  }
}
