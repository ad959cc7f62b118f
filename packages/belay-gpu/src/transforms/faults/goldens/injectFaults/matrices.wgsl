// --- input

enable chromium_experimental_subgroup_matrix, subgroups;
diagnostic(off, chromium.subgroup_matrix_uniformity);
diagnostic(off, subgroup_uniformity);

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> v: array<vec3f>;
@group(0) @binding(2) var<storage, read_write> n: atomic<i32>;
@group(0) @binding(3) var<uniform> size: u32;

fn f(i: u32) {
  var sum: subgroup_matrix_result<f32, 8, 8>;
  for (var k = i; subgroupAll(k < 9u); k++) {
    sum = subgroupMatrixScalarAdd(sum, 1.0);
  }
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, inject

fn f(i: u32) {
  var sum: subgroup_matrix_result<f32, 8, 8>;
  for (var k = belay_strike_u32(1u, i); subgroupAll(belay_branch(2u, k < 9u)); k = belay_strike_u32(3u, k + 1)) {
    if (subgroupAny(belay_is_spent())) {
      break;
    }
    sum = subgroupMatrixScalarAdd(sum, 1.0);
  }
}

// --- library: belay_armed, belay_occurrence, belay_struck_first, belay_struck_others, belay_struck_line, belay_strikes, belay_fuel, belay_struck_by_line, belay_struck_clear, belay_struck_mask, belay_struck_component, belay_struck, belay_aim, belay_is_hit, belay_is_hit_in, belay_is_spent, belay_settle, belay_strike_u32, belay_branch
