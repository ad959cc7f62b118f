// --- input

fn f() {}

// --- passes: declareReport

struct belay_Record {
  site: u32,
  workgroup_x: u32,
  workgroup_y: u32,
  workgroup_z: u32,
  local: u32,
  replica: u32,
  cause: u32,
  word_offset: u32,
  value: array<u32, 4>,
}

struct belay_Report {
  detections: atomic<u32>,
  findings: array<atomic<u32>, 3>,
  grid: u32,
  strikes: atomic<u32>,
  hangs: atomic<u32>,
  struck: u32,
  dispatch: u32,
  armed_site: u32,
  armed_replica: u32,
  armed_extent: u32,
  armed_clear: u32,
  armed_mask: u32,
  armed_component: u32,
  armed_workgroup_x: u32,
  armed_workgroup_y: u32,
  armed_workgroup_z: u32,
  armed_local_index: u32,
  armed_occurrence: u32,
  armed_occurrences: u32,
  armed_dispatch: u32,
  armed_dispatches: u32,
  armed_line: u32,
  fuel: u32,
  @size(28) skip: u32,
  records: array<belay_Record, 16>,
  memory_records: array<array<array<u32, 4>, 8>, 3>,
}

@group(2) @binding(5) var<storage, read_write> belay_report: belay_Report;
var<private> belay_replica: u32;
var<private> belay_local: u32;
var<private> belay_workgroup: vec3<u32>;

fn belay_record(site: u32, cause: u32, address: u32, value: vec4<u32>) {
  let at = atomicAdd(&belay_report.detections, 1u);
  if (at < 16u) {
    belay_report.records[at] = belay_Record(site, belay_workgroup.x, belay_workgroup.y, belay_workgroup.z, belay_local, belay_replica, cause, address / 4u, array<u32, 4>(value.x, value.y, value.z, value.w));
  }
}
