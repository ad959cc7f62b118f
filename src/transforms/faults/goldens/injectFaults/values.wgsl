fn f(i: u32, x: f32) {
  let y = belay_strike_f32(1u, x * 2.0);
  var z: vec3f = belay_strike_vec3f32(2u, vec3f(y) + v[i]);
  z.x = belay_strike_f32(3u, y + 1.0);
  z = belay_strike_vec3f32(4u, z * y);
  var k = belay_strike_i32(5u, g());
  k = belay_strike_i32(6u, k + 2);
  let belay_value_1: u32 = belay_strike_u32(7u, a[i + 1u] + u32(k));
  a[i] = belay_value_1;
  let belay_value_2: vec2<f32> = belay_strike_vec2f32(8u, z.xy);
  let belay_value_4 = belay_strike_f32(9u, belay_value_2.x);
  v[i].z = belay_value_4;
  let belay_value_5 = belay_strike_f32(10u, belay_value_2.y);
  v[i].x = belay_value_5;
  let belay_value_3: vec3<f32> = belay_strike_vec3f32(11u, v[i] + z);
  v[i] = belay_value_3;
}

var<private> belay_occurrence: u32;

fn belay_is_struck(site: u32) -> bool {
  var struck = false;
  if ((belay_report.armed_site == site) & (belay_report.armed_replica == belay_replica) & (belay_report.armed_local_index == belay_local) & (belay_report.armed_workgroup_x == belay_workgroup.x) & (belay_report.armed_workgroup_y == belay_workgroup.y) & (belay_report.armed_workgroup_z == belay_workgroup.z)) {
    struck = belay_occurrence == belay_report.armed_occurrence;
    belay_occurrence += 1u;
    if (struck) {
      atomicAdd(&belay_report.strikes, 1u);
    }
  }
  return struck;
}

fn belay_strike_f32(site: u32, value: f32) -> f32 {
  var words = bitcast<u32>(value);
  if (belay_is_struck(site)) {
    belay_report.struck = words;
    words = (words & ~belay_report.armed_clear) ^ belay_report.armed_mask;
  }
  return bitcast<f32>(words);
}

fn belay_strike_vec3f32(site: u32, value: vec3<f32>) -> vec3<f32> {
  var words = bitcast<vec3<u32>>(value);
  if (belay_is_struck(site)) {
    belay_report.struck = words[min(belay_report.armed_component, 2u)];
    words[min(belay_report.armed_component, 2u)] = (words[min(belay_report.armed_component, 2u)] & ~belay_report.armed_clear) ^ belay_report.armed_mask;
  }
  return bitcast<vec3<f32>>(words);
}

fn belay_strike_i32(site: u32, value: i32) -> i32 {
  var words = bitcast<u32>(value);
  if (belay_is_struck(site)) {
    belay_report.struck = words;
    words = (words & ~belay_report.armed_clear) ^ belay_report.armed_mask;
  }
  return bitcast<i32>(words);
}

fn belay_strike_u32(site: u32, value: u32) -> u32 {
  var words = bitcast<u32>(value);
  if (belay_is_struck(site)) {
    belay_report.struck = words;
    words = (words & ~belay_report.armed_clear) ^ belay_report.armed_mask;
  }
  return bitcast<u32>(words);
}

fn belay_strike_vec2f32(site: u32, value: vec2<f32>) -> vec2<f32> {
  var words = bitcast<vec2<u32>>(value);
  if (belay_is_struck(site)) {
    belay_report.struck = words[min(belay_report.armed_component, 1u)];
    words[min(belay_report.armed_component, 1u)] = (words[min(belay_report.armed_component, 1u)] & ~belay_report.armed_clear) ^ belay_report.armed_mask;
  }
  return bitcast<vec2<f32>>(words);
}
