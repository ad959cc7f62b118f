// --- input

struct Δ {
  a: u32,
}

struct Ж {
  a: f32,
}

var<private> a: Δ;
var<private> b: Ж;
var<private> c: array<Δ, 2>;
var<private> d: Δ;

// --- passes: hashes

fn belay_fold(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) * 0x9e3779b1u + word * 0x2c9277b5u;
}

fn belay_hash_1(value: Δ) -> u32 {
  var hash = 0u;
  hash = belay_fold(hash, value.a);
  return hash;
}

fn use_a() -> u32 {
  return belay_fold(1u, belay_hash_1(a));
}

fn belay_hash_2(value: Ж) -> u32 {
  var hash = 0u;
  hash = belay_fold(hash, bitcast<u32>(value.a));
  return hash;
}

fn use_b() -> u32 {
  return belay_fold(1u, belay_hash_2(b));
}

fn belay_hash_3(value: array<Δ, 2>) -> u32 {
  var hash = 0u;
  for (var i = 0u; i < 2u; i++) {
    hash = belay_fold(hash, belay_hash_1(value[i]));
  }
  return hash;
}

fn use_c() -> u32 {
  return belay_fold(1u, belay_hash_3(c));
}

fn use_d() -> u32 {
  return belay_fold(1u, belay_hash_1(d));
}

fn all_of(a: u32, b: u32) -> u32 {
  return belay_fold(belay_fold(0u, a), b);
}
