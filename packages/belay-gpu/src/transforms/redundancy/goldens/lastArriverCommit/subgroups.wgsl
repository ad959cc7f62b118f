// --- input

@group(0) @binding(0) var<storage, read_write> a: array<vec2f>;
@group(0) @binding(1) var<storage, read> at: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&a)) {
    return;
  }
  let v = a[at[id.x]] + a[0];
  a[id.x] = v;
}

// --- passes: declareReport, enableSubgroups, lastArriverCommit

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&a)) {
    return;
  }
  let v = belay_loaded_1(a[at[id.x]]) + belay_loaded_1(a[0]);
  belay_arrive(2u);
  a[id.x] = v;
}

var<private> belay_loaded: u32;
var<private> belay_sequential: bool;

fn belay_arrive(words: u32) {
  belay_signature = belay_fold(belay_signature ^ 0u, 1u);
  if (belay_sequential) {
    return;
  }
  let word = words * belay_pair + belay_local / 32u;
  let bit = 1u << (belay_local % 32u);
  let is_beyond = (belay_loaded & (belay_pair / 1048576u)) != 0u;
  var before: u32;
  if (subgroupAll(word == subgroupBroadcastFirst(word))) {
    let bits = select(subgroupOr(bit), 0u, subgroupAny(is_beyond));
    if (subgroupElect()) {
      before = atomicXor(&belay_report.arrivals[word], bits);
    }
    before = subgroupBroadcastFirst(before);
  } else {
    before = atomicXor(&belay_report.arrivals[word], select(bit, 0u, is_beyond));
  }
  belay_replica = u32((before & bit) == 0u);
}

fn belay_loaded_1(value: vec2<f32>) -> vec2<f32> {
  let words = bitcast<vec2<u32>>(value);
  belay_loaded ^= words.x ^ words.y;
  return value;
}

// --- library: belay_signature, belay_fold
