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
  var k = i;
  loop {
    switch (k) {
      case 1: {
        break;
      }
      default: {
        out[k] = i;
      }
    }
    continuing {
      k++;
      out[0] = k;
      break if k > 9u;
    }
  }
}

// --- passes: normalizeAccesses, expandSwizzles, declareReport, replicate, compareStores

@compute @workgroup_size(2u * 64u, 1u, 1u)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_replica = belay_in_local_invocation_index & 1u;
  belay_local = belay_in_local_invocation_index >> 1u;
  {
    let l: u32 = belay_local;
    f(l);
  }
  belay_conclude(1u);
}

fn f(i: u32) {
  var k = i;
  loop {
    switch (k) {
      case 1: {
        break;
      }
      default: {
        let belay_value_2 = k;
        belay_signature = belay_fold(belay_signature ^ 1013904226u ^ u32(belay_value_2), i);
        belay_weight *= 0x9e3779b1u;
        belay_tally -= belay_weight;
        if (belay_replica == 0u) {
          out[belay_value_2] = i;
          belay_tally += 2u * belay_weight;
        }
      }
    }
    continuing {
      k++;
      let belay_value_1: u32 = k;
      belay_signature = belay_fold(belay_signature ^ 3668339987u, belay_value_1);
      belay_weight *= 0x9e3779b1u;
      belay_tally -= belay_weight;
      if (belay_replica == 0u) {
        out[0] = belay_value_1;
        belay_tally += 2u * belay_weight;
      }
      break if k > 9u;
    }
  }
}

var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_finals, belay_conclude, belay_fold
