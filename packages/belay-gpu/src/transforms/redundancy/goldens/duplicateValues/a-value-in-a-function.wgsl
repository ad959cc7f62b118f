// --- input

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> n: atomic<u32>;

fn squared(a: f32) -> f32 {
  return a * a;
}

fn put(i: u32, value: f32) {
  y[i] = value;
}

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  var sum = 0.0;
  loop {
    let a = x[i] + sum;
    if (a > 4.0) {
      break;
    }
    sum += squared(a);
  }
  let place = atomicAdd(&n, 1u);
  put(place + i, sum);
}

// --- passes: declareReport, duplicateValues

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>) {
  belay_hidden = u32(belay_in_workgroup_id.x >= belay_in_num_workgroups.x);
  {
    var sum = 0.0;
    var belay_sum_second_1: f32 = belay_opaque_f32(0.0);
    loop {
      _ = belay_same_f32(sum, belay_sum_second_1);
      let a = x[i] + sum;
      let belay_a_second_1: f32 = belay_opaque_f32(a);
      if (a > 4.0) {
        break;
      }
      sum += squared(a);
      belay_sum_second_1 += squared(belay_a_second_1);
    }
    let place = atomicAdd(&n, 1u);
    _ = belay_same_f32(sum, belay_sum_second_1);
    put(place + i, sum);
  }
  if (belay_differs != 0u) {
    belay_record(1u, 1u, 0u, vec4<u32>(belay_differs, 0u, 0u, 0u));
  }
}

var<private> belay_differs: u32;
var<private> belay_hidden: u32;

fn belay_opaque_f32(value: f32) -> f32 {
  if (belay_hidden != 0u) {
    return f32();
  }
  return value;
}

fn belay_same_f32(a: f32, b: f32) -> f32 {
  let difference = bitcast<u32>(a) ^ bitcast<u32>(b);
  belay_differs |= difference;
  return a;
}
