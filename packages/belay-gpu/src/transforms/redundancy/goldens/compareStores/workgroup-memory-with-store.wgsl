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
  tile[i] = vec2(i > 3u, tile[0].x);
  tile[0].x = true;
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, replicate, compareStores

fn f(i: u32) {
  let belay_value_1: vec2<bool> = vec2(i > 3u, tile[0].x);
  if (belay_agree2at(1u, (u32(i) << 3u) | (u32(i) >> 29u), vec2<u32>(belay_value_1))) {
    tile[i] = belay_value_1;
  }
  let belay_value_2: bool = true;
  if (belay_agree0(2u, 0u)) {
    tile[0].x = belay_value_2;
  }
}

// --- library: belay_alone, belay_turn, belay_fold, belay_slots, belay_agree2at, belay_agree0
