// --- input

struct Part {
  at: vec3f,
  hits: atomic<i32>,
}

var<workgroup> tile: array<f32, 32>;
var<workgroup> parts: array<Part, 8>;
var<workgroup> copies: array<array<u32, 4>, 2>;

fn f(l: u32, x: vec3f) {
  tile[l] = x.y;
  parts[l].at = x;
  parts[l].at.y = 2.0;
  let old = atomicAdd(&parts[l].hits, 3);
  atomicStore(&parts[0].hits, old);
}

@compute @workgroup_size(8)
fn main() {
  tile[0] = 0.0;
  f(1u, vec3f());
}

// --- passes: normalizeAccesses, declareReport, strike

fn f(l: u32, x: vec3f) {
  let belay_value_1: f32 = x.y;
  tile[l] = belay_strike_f32(1u, belay_value_1);
  parts[l].at = belay_strike_vec3f32(2u, x);
  let belay_value_2: f32 = 2.0;
  parts[l].at.y = belay_strike_f32(3u, belay_value_2);
  let old = atomicAdd(&parts[l].hits, 3);
  if (belay_is_hit(4u)) {
    belay_struck = bitcast<u32>(atomicLoad(&parts[l].hits));
    atomicAnd(&parts[l].hits, bitcast<i32>(~belay_struck_clear));
    atomicXor(&parts[l].hits, bitcast<i32>(belay_struck_mask));
  }
  atomicStore(&parts[0].hits, old);
  if (belay_is_hit(5u)) {
    belay_struck = bitcast<u32>(atomicLoad(&parts[0].hits));
    atomicAnd(&parts[0].hits, bitcast<i32>(~belay_struck_clear));
    atomicXor(&parts[0].hits, bitcast<i32>(belay_struck_mask));
  }
}

@compute @workgroup_size(8)
fn main() {
  let belay_value_3: f32 = 0.0;
  tile[0] = belay_strike_f32(6u, belay_value_3);
  f(1u, vec3f());
}

// --- library: belay_armed, belay_occurrence, belay_struck_first, belay_struck_others, belay_struck_line, belay_strikes, belay_fuel, belay_struck_by_line, belay_struck_clear, belay_struck_mask, belay_struck_component, belay_struck, belay_aim, belay_is_hit, belay_is_hit_in, belay_is_spent, belay_settle, belay_strike_f32, belay_strike_vec3f32
