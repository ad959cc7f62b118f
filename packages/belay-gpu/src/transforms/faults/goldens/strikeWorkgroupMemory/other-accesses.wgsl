// --- input

struct Part {
  at: vec3f,
  hits: atomic<i32>,
}

var<workgroup> tile: array<f32, 32>;
var<workgroup> parts: array<Part, 8>;
var<workgroup> copies: array<array<u32, 4>, 2>;

fn f(l: u32, x: vec3f) {
  var mine = tile[l];
  mine += 1.0;
  copies[l & 1u] = array(l, l, 3u, 4u);
  let n = atomicLoad(&parts[l].hits);
}

@compute @workgroup_size(8)
fn main() {
  tile[0] = 0.0;
  f(1u, vec3f());
}

// --- passes: normalizeAccesses, declareReport, strike

@compute @workgroup_size(8)
fn main() {
  let belay_value_3: f32 = 0.0;
  tile[0] = belay_strike_f32(1u, belay_value_3);
  f(1u, vec3f());
}

// --- library: belay_armed, belay_occurrence, belay_struck_first, belay_struck_others, belay_struck_line, belay_strikes, belay_fuel, belay_struck_by_line, belay_struck_clear, belay_struck_mask, belay_struck_component, belay_struck, belay_aim, belay_is_hit, belay_is_hit_in, belay_is_spent, belay_settle, belay_strike_f32
