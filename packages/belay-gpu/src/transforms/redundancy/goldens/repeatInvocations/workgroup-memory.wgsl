// --- input

enable f16;

struct Part {
  at: vec3f,
  flags: array<vec2<bool>, 4>,
}

struct Bins {
  total: atomic<u32>,
  parts: array<Part, 2>,
  all: array<array<atomic<i32>, 3>, 2>,
}

override width = 4;

var<workgroup> one: bool;
var<workgroup> m: mat4x3f;
var<workgroup> tile: array<array<array<f32, 16>, 1>, 17>;
var<workgroup> rows: array<array<vec2h, 4>, width>;
var<workgroup> bins: Bins;
var<workgroup> all: array<Bins, 5>;
var<workgroup> elsewhere: u32;

fn f() {
  _ = &one;
  _ = &m;
  _ = &tile;
  _ = &rows;
  _ = &bins;
  _ = &all;
}

fn g() {
  elsewhere = 1u;
}

@compute @workgroup_size(8, 8)
fn main() {
  f();
}

// --- passes: declareReport, repeat

@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  let belay_zero = u32(belay_in_workgroup_id.x >= belay_in_num_workgroups.x);
  for (var belay_pass = 0u; belay_pass < 2u + belay_zero; belay_pass++) {
    belay_replica = (1u - belay_pass) ^ belay_zero;
    belay_local = belay_in_local_invocation_index ^ belay_replica;
    {
      f();
    }
    if (belay_pass == 0u) {
      belay_keep();
      workgroupBarrier();
      if (belay_in_local_invocation_index == 0u) {
        one = bool();
      }
      if (belay_in_local_invocation_index == 0u) {
        m = mat4x3<f32>();
      }
      for (var belay_element = belay_in_local_invocation_index; belay_element < 17u * 16u; belay_element += 8u * 8u) {
        tile[belay_element / 16u][belay_element / 16u % 1u][belay_element % 16u] = f32();
      }
      for (var belay_element = belay_in_local_invocation_index; belay_element < u32(width) * 4u; belay_element += 8u * 8u) {
        rows[belay_element / 4u][belay_element % 4u] = vec2<f16>();
      }
      if (belay_in_local_invocation_index == 0u) {
        atomicStore(&bins.total, 0);
        bins.parts = array<Part, 2>();
        for (var belay_element_1 = 0u; belay_element_1 < 2u; belay_element_1++) {
          for (var belay_element_2 = 0u; belay_element_2 < 3u; belay_element_2++) {
            atomicStore(&bins.all[belay_element_1][belay_element_2], 0);
          }
        }
      }
      for (var belay_element = belay_in_local_invocation_index; belay_element < 5u; belay_element += 8u * 8u) {
        atomicStore(&all[belay_element].total, 0);
        all[belay_element].parts = array<Part, 2>();
        for (var belay_element_1 = 0u; belay_element_1 < 2u; belay_element_1++) {
          for (var belay_element_2 = 0u; belay_element_2 < 3u; belay_element_2++) {
            atomicStore(&all[belay_element].all[belay_element_1][belay_element_2], 0);
          }
        }
      }
      workgroupBarrier();
    }
  }
}

var<private> belay_lane: u32;
var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_finals, belay_keep, belay_conclude
