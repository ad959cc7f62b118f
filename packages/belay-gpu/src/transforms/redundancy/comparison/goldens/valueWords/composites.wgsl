// --- input

enable f16;

struct Inner {
  flags: vec3<bool>,
  value: i32,
  hash: array<vec3f, 2>,
}

struct value {
  inner: Inner,
  m: mat3x2f,
  h: mat2x4h,
}

var<private> a: value;
var<private> b: array<array<f16, 3>, 2>;
var<private> c: array<Inner, 2>;
var<private> d: vec3u;

// --- passes: hashes

fn belay_fold(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) * 0x9e3779b1u + word * 0x2c9277b5u;
}

fn belay_append(hash: u32, word: u32) -> u32 {
  return ((hash << 5u) | (hash >> 27u)) + word * 0x2c9277b5u;
}

fn belay_fold3(hash: u32, words: vec3<u32>) -> u32 {
  return belay_append(belay_append(belay_fold(hash, words.x), words.y), words.z);
}

fn belay_hash_3(value: array<vec3<f32>, 2>) -> u32 {
  var hash = 0u;
  for (var i = 0u; i < 2u; i++) {
    hash = belay_fold3(hash, bitcast<vec3<u32>>(value[i]));
  }
  return hash;
}

fn belay_hash_2(value: Inner) -> u32 {
  var hash = 0u;
  hash = belay_fold3(hash, vec3<u32>(value.flags));
  hash = belay_fold(hash, bitcast<u32>(value.value));
  hash = belay_fold(hash, belay_hash_3(value.hash));
  return hash;
}

fn belay_fold2(hash: u32, words: vec2<u32>) -> u32 {
  return belay_append(belay_fold(hash, words.x), words.y);
}

fn belay_hash_4(value: mat3x2<f32>) -> u32 {
  var hash = 0u;
  hash = belay_fold2(hash, bitcast<vec2<u32>>(value[0]));
  hash = belay_fold2(hash, bitcast<vec2<u32>>(value[1]));
  hash = belay_fold2(hash, bitcast<vec2<u32>>(value[2]));
  return hash;
}

fn belay_hash_5(value: mat2x4<f16>) -> u32 {
  var hash = 0u;
  hash = belay_fold2(hash, bitcast<vec2<u32>>(value[0]));
  hash = belay_fold2(hash, bitcast<vec2<u32>>(value[1]));
  return hash;
}

fn belay_hash_1(value: value) -> u32 {
  var hash = 0u;
  hash = belay_fold(hash, belay_hash_2(value.inner));
  hash = belay_fold(hash, belay_hash_4(value.m));
  hash = belay_fold(hash, belay_hash_5(value.h));
  return hash;
}

fn use_a() -> u32 {
  return belay_fold(1u, belay_hash_1(a));
}

fn belay_hash_7(value: array<f16, 3>) -> u32 {
  var hash = 0u;
  for (var i = 0u; i < 3u; i++) {
    hash = belay_fold(hash, bitcast<u32>(vec2<f16>(value[i], 0h)));
  }
  return hash;
}

fn belay_hash_6(value: array<array<f16, 3>, 2>) -> u32 {
  var hash = 0u;
  for (var i = 0u; i < 2u; i++) {
    hash = belay_fold(hash, belay_hash_7(value[i]));
  }
  return hash;
}

fn use_b() -> u32 {
  return belay_fold(1u, belay_hash_6(b));
}

fn belay_hash_8(value: array<Inner, 2>) -> u32 {
  var hash = 0u;
  for (var i = 0u; i < 2u; i++) {
    hash = belay_fold(hash, belay_hash_2(value[i]));
  }
  return hash;
}

fn use_c() -> u32 {
  return belay_fold(1u, belay_hash_8(c));
}

fn use_d() -> u32 {
  return belay_fold3(1u, bitcast<vec3<u32>>(d));
}

fn all_of(a: u32, b: u32) -> u32 {
  return belay_fold(belay_fold(0u, a), b);
}
