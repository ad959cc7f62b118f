// --- input

struct Part {
  at: vec3f,
  rows: array<mat2x2f, 2>,
}

alias Four = array<u32, 4>;

@compute @workgroup_size(64)
fn main() {
  var count: u32;
  var list: Four;
  {
    var part: Part;
    if (count == 0u) {
      var m: mat4x3f;
      m[0] = part.at;
    }
  }
  for (var i: i32; i < 3; i++) {
    count++;
    list[i]++;
  }
}

// --- passes: declareReport, repeat

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32) {
  belay_workgroup = belay_in_workgroup_id;
  belay_lane = belay_in_local_invocation_index;
  let belay_zero = u32(belay_in_workgroup_id.x >= belay_in_num_workgroups.x);
  for (var belay_pass = 0u; belay_pass < 2u + belay_zero; belay_pass++) {
    belay_replica = (1u - belay_pass) ^ belay_zero;
    belay_local = belay_in_local_invocation_index ^ belay_replica;
    {
      var count: u32 = u32();
      var list: Four = Four();
      {
        var part: Part = Part();
        if (count == 0u) {
          var m: mat4x3f = mat4x3f();
          m[0] = part.at;
        }
      }
      for (var i: i32 = i32(); i < 3; i++) {
        count++;
        list[i]++;
      }
    }
    if (belay_pass == 0u) {
      belay_keep();
    }
  }
}

var<private> belay_lane: u32;
var<private> belay_tally: u32;
var<private> belay_weight: u32 = 1u;

// --- library: belay_signature, belay_finals, belay_keep, belay_conclude
