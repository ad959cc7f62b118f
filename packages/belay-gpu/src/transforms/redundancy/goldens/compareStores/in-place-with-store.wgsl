// --- input

struct Part {
  at: vec3f,
  flags: array<u32, 4>,
}

@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read_write> parts: array<Part>;
@group(0) @binding(2) var<storage, read_write> a: array<vec2u>;
var<workgroup> tile: array<vec2<bool>, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) l: u32) {
  f(l);
}

fn f(i: u32) {
  a[i] = a[i + 1u] * 2u;
  for (var k = 0u; k < i; k++) {
    if (k == 3u) {
      a[k].y = k;
    }
  }
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, replicate, compareStores

fn f(i: u32) {
  let belay_value_1: vec2<u32> = a[i + 1u] * 2u;
  if (belay_agree2at(1u, (u32(i) << 3u) | (u32(i) >> 29u), bitcast<vec2<u32>>(belay_value_1))) {
    a[i] = belay_value_1;
  }
  for (var k = 0u; k < i; k++) {
    if (k == 3u) {
      let belay_value_2 = k;
      let belay_value_3: u32 = k;
      if (belay_agree1at(2u, ((u32(belay_value_2) << 3u) | (u32(belay_value_2) >> 29u)) + 4u, belay_value_3)) {
        a[belay_value_2].y = belay_value_3;
      }
    }
  }
}

// --- library: belay_alone, belay_turn, belay_fold, belay_slots, belay_agree2at, belay_agree1at
