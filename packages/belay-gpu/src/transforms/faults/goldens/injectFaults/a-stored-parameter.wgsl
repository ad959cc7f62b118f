// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> v: array<vec3f>;
@group(0) @binding(2) var<storage, read_write> n: atomic<i32>;
@group(0) @binding(3) var<uniform> size: u32;

fn f(i: u32) {
  a[i] = i;
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, inject

fn f(i: u32) {
  if (!belay_is_hit(3u)) {
    let belay_index_1 = belay_strike_u32(2u, i);
    let belay_value_1 = belay_strike_u32(1u, i);
    a[belay_index_1] = belay_value_1;
  }
}

// --- library: belay_armed, belay_occurrence, belay_struck_first, belay_struck_others, belay_struck_line, belay_strikes, belay_fuel, belay_struck_by_line, belay_struck_clear, belay_struck_mask, belay_struck_component, belay_struck, belay_aim, belay_is_hit, belay_is_hit_in, belay_is_spent, belay_settle, belay_strike_u32
