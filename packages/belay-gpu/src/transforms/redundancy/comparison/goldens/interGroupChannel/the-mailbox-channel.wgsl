// --- input

@compute @workgroup_size(64)
fn main() {}

// --- passes: interGroupChannel, interGroupChannel, interGroupChannel

var<private> belay_turn: u32;
var<private> belay_alone: bool;

fn belay_begin(site: u32) -> bool {
  belay_turn += 1u;
  belay_alone |= atomicLoad(&belay_given_up) != 0u;
  if (belay_alone) {
    return false;
  }
  for (var i = 0u; i < belay_patience && !belay_place_is_free; i++) {
    belay_place_is_free = atomicLoad(&belay_report.places[belay_place]) == ~belay_stamp_before;
  }
  if (belay_place_is_free) {
    return true;
  }
  belay_alone = true;
  belay_wait_ran_out(site);
  return false;
}

fn belay_fold(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) * 0x9e3779b1u + word * 0x2c9277b5u;
}

fn belay_send(word: u32) {
  let key = belay_fold(belay_stamp, belay_turn);
  let slot = belay_mail + ((belay_turn & 1u) * 4u + belay_replica * 2u) * belay_mail_stride;
  atomicStore(&belay_report.mail[slot], word ^ key);
  atomicStore(&belay_report.mail[slot + belay_mail_stride], word ^ ~(key >> 1u));
}

fn belay_receive(site: u32) -> u32 {
  let key = belay_fold(belay_stamp, belay_turn);
  let slot = belay_mail + ((belay_turn & 1u) * 4u + (belay_replica ^ 1u) * 2u) * belay_mail_stride;
  var has_left = false;
  for (var i = 0u; i < belay_patience; i++) {
    let word = atomicLoad(&belay_report.mail[slot]) ^ key;
    if (atomicLoad(&belay_report.mail[slot + belay_mail_stride]) == (word ^ ~(key >> 1u))) {
      return word;
    }
    if (i % 1024u == 1023u) {
      let mark = atomicLoad(&belay_report.places[belay_place]);
      if (has_left || mark == belay_stamp + 0x80000000u) {
        break;
      }
      has_left = mark == belay_stamp;
    }
  }
  belay_alone = true;
  if (has_left) {
    belay_record(site, 2u, 0u, vec4<u32>());
  } else {
    belay_wait_ran_out(site);
  }
  return 0u;
}

fn belay_agree2at(site: u32, address: u32, value: vec2<u32>) -> bool {
  if (!belay_begin(site)) {
    return false;
  }
  let word = belay_fold(belay_fold(belay_fold(site, address), value.x), value.y);
  belay_send(word);
  let theirs = belay_receive(site);
  if (belay_alone) {
    return false;
  }
  if (theirs == word) {
    return true;
  }
  belay_alone = true;
  belay_record(site, 1u, address, vec4<u32>(value.x, value.y, 0u, 0u));
  return false;
}

fn belay_agree0(site: u32, address: u32) -> bool {
  if (!belay_begin(site)) {
    return false;
  }
  let word = site;
  belay_send(word);
  let theirs = belay_receive(site);
  if (belay_alone) {
    return false;
  }
  if (theirs == word) {
    return true;
  }
  belay_alone = true;
  belay_record(site, 1u, address, vec4<u32>(0u, 0u, 0u, 0u));
  return false;
}

fn belay_share1(site: u32, value: u32) -> u32 {
  if (!belay_begin(site)) {
    return value;
  }
  belay_send(select(0u, value, belay_replica == 0u));
  let word = belay_receive(site);
  return select(word, value, (belay_replica == 0u) | belay_alone);
}

fn belay_share2(site: u32, value: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(belay_share1(site, value.x), belay_share1(site, value.y));
}
