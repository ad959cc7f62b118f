fn f(i: u32) {
  let rounds = size / 2u;
  var stride = rounds + 1u;
  while (stride > 0u) {
    let belay_value_1: u32 = belay_strike_u32(1u, a[i + stride] * 2u);
    a[i] = belay_value_1;
    workgroupBarrier();
    stride = stride / 2u;
    stride -= size;
  }
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

fn belay_strike_u32(site: u32, value: u32) -> u32 {
  var words = bitcast<u32>(value);
  if (belay_is_struck(site)) {
    belay_report.struck = words;
    words = (words & ~belay_report.armed_clear) ^ belay_report.armed_mask;
  }
  return bitcast<u32>(words);
}
