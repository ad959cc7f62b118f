// --- input

enable f16;

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> v: array<vec3f>;
@group(0) @binding(2) var<storage, read_write> n: atomic<i32>;
@group(0) @binding(3) var<uniform> size: u32;

fn f(i: u32) {
  let rounds = size / 2u;
  var stride = rounds + 1u;
  while (stride > 0u) {
    a[i] = a[i + stride] * 2u;
    workgroupBarrier();
    stride = stride / 2u;
    stride -= size;
  }
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, inject

fn f(i: u32) {
  let rounds = size / 2u;
  var stride = rounds + 1u;
  while (stride > 0u) {
    let belay_value_1: u32 = belay_strike_u32(3u, belay_load_1(i + stride) * 2u);
    if (!belay_is_hit(5u)) {
      let belay_index_3 = belay_strike_u32(4u, i);
      a[belay_index_3] = belay_value_1;
    }
    workgroupBarrier();
    stride = stride / 2u;
    stride -= size;
  }
}

fn belay_load_1(belay_index_1: u32) -> u32 {
  let belay_index_2 = belay_strike_u32(1u, belay_index_1);
  return belay_strike_load_u32(2u, u32(belay_index_2) * 4u / 128u, a[belay_index_2]);
}

// --- library: belay_armed, belay_occurrence, belay_struck_first, belay_struck_others, belay_struck_line, belay_strikes, belay_fuel, belay_struck_by_line, belay_struck_clear, belay_struck_mask, belay_struck_component, belay_struck, belay_aim, belay_is_hit, belay_is_hit_in, belay_is_spent, belay_settle, belay_strike_u32, belay_strike_load_u32
