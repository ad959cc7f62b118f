// --- input

struct Pair {
  key: u32,
  value: vec3<i32>,
}

@group(0) @binding(0) var<storage, read_write> pairs: array<Pair>;
var<workgroup> tile: array<Pair, 64>;

fn load(i: u32) -> Pair {
  return pairs[i];
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  tile[l] = load(l);
  if (pairs[0].key == 3u) {
    tile[l].key = pairs[pairs[l].key].key;
  }
  workgroupBarrier();
  let other = tile[63u - l];
  pairs[l] = other;
}

// --- passes: declareReport, lastArriverCommit

fn load(i: u32) -> Pair {
  return belay_loaded_1(pairs[i]);
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  tile[l] = load(l);
  if (belay_loaded_2(pairs[0].key) == 3u) {
    tile[l].key = belay_loaded_2(pairs[belay_loaded_2(pairs[l].key)].key);
  }
  workgroupBarrier();
  let other = tile[63u - l];
  belay_arrive_together(1u);
  pairs[l] = other;
}

var<private> belay_loaded: u32;
var<private> belay_sequential: bool;
var<workgroup> belay_arrived: u32;

fn belay_arrive_together(words: u32) {
  belay_signature = belay_fold(belay_signature ^ 0u, 1u);
  if ((belay_loaded & (belay_pair / 1048576u)) != 0u) {
    belay_arrived = 1u;
  }
  storageBarrier();
  if (belay_local == 0u) {
    if (belay_sequential) {
      belay_arrived = 1u - belay_replica;
    } else {
      belay_arrived = atomicXor(&belay_report.arrivals[words * belay_pair], 1u);
    }
  }
  belay_replica = u32(workgroupUniformLoad(&belay_arrived) == 0u);
}

fn belay_loaded_1(value: Pair) -> Pair {
  let words = belay_hash_1(value);
  belay_loaded ^= words;
  return value;
}

fn belay_loaded_2(value: u32) -> u32 {
  let words = value;
  belay_loaded ^= words;
  return value;
}

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

// --- library: belay_fold, belay_fold3, belay_hash_1, belay_signature
