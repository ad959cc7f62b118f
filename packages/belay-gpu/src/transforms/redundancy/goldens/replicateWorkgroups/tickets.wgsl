// --- input

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) n: vec3u) {
  if (n.x > 3u) {
    return;
  }
}

// --- passes: replicateWorkgroups, replicateWorkgroups

fn belay_main_1(id: vec3u, n: vec3u) {
  if (n.x > 3u) {
    return;
  }
}

@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) belay_in_workgroup_id: vec3<u32>, @builtin(num_workgroups) belay_in_num_workgroups: vec3<u32>, @builtin(local_invocation_index) belay_in_local_invocation_index: u32, @builtin(local_invocation_id) belay_in_local_invocation_id: vec3<u32>) {
  belay_local = belay_in_local_invocation_index;
  var belay_doubled = belay_doubling;
  if (belay_doubled == 3u) {
    belay_doubled = belay_report.grid;
  }
  let belay_groups = belay_twin_of(belay_in_workgroup_id, belay_in_num_workgroups, belay_doubled).groups;
  let belay_ticket = belay_draw_ticket(2u * belay_groups.x * belay_groups.y * belay_groups.z - 1u);
  let belay_twin = belay_twin_with(belay_ticket.x, belay_groups);
  belay_replica = belay_twin.replica;
  belay_pair = belay_twin.id.x + belay_twin.groups.x * (belay_twin.id.y + belay_twin.groups.y * belay_twin.id.z);
  belay_workgroup = belay_twin.id;
  belay_enter_place(belay_ticket.y, 8u * 8u);
  loop {
    belay_main_1(belay_twin.id * vec3<u32>(8u, 8u, 1u) + belay_in_local_invocation_id, belay_twin.groups);
    break;
  }
  belay_leave_place();
}

override belay_doubling: u32 = 0u;

struct belay_Twin {
  replica: u32,
  id: vec3<u32>,
  groups: vec3<u32>,
}

fn belay_twin_of(id: vec3<u32>, groups: vec3<u32>, doubled: u32) -> belay_Twin {
  if (doubled == 1u) {
    let at = id.x + groups.x * id.y;
    let pair = at >> 1u;
    return belay_Twin(at & 1u, vec3<u32>(pair % groups.x, pair / groups.x, id.z), vec3<u32>(groups.x, groups.y >> 1u, groups.z));
  }
  if (doubled == 2u) {
    let at = id.y + groups.y * id.z;
    let pair = at >> 1u;
    return belay_Twin(at & 1u, vec3<u32>(id.x, pair % groups.y, pair / groups.y), vec3<u32>(groups.x, groups.y, groups.z >> 1u));
  }
  return belay_Twin(id.x & 1u, vec3<u32>(id.x >> 1u, id.y, id.z), vec3<u32>(groups.x >> 1u, groups.y, groups.z));
}

fn belay_twin_with(ticket: u32, groups: vec3<u32>) -> belay_Twin {
  let pair = ticket >> 1u;
  let row = pair / groups.x;
  return belay_Twin(ticket & 1u, vec3<u32>(pair % groups.x, row % groups.y, row / groups.y), groups);
}

override belay_patience: u32 = 1048576u;

var<workgroup> belay_ticket_drawn: vec2<u32>;
var<workgroup> belay_given_up: atomic<u32>;
var<private> belay_place: u32;
var<private> belay_place_is_free: bool;
var<private> belay_stamp: u32;
var<private> belay_stamp_before: u32;
var<private> belay_mail: u32;
var<private> belay_mail_stride: u32;

fn belay_draw_ticket(last: u32) -> vec2<u32> {
  if (belay_local == 0u) {
    let epoch = atomicLoad(&belay_report.epoch);
    let ticket = atomicAdd(&belay_report.tickets, 1u + (epoch >> 31u));
    if (ticket == last) {
      atomicStore(&belay_report.tickets, 0u);
      atomicStore(&belay_report.epoch, (epoch + 1u) & 0x7fffffffu);
    }
    belay_ticket_drawn = vec2<u32>(ticket, epoch);
    atomicStore(&belay_given_up, atomicLoad(&belay_report.has_run_out));
  }
  return workgroupUniformLoad(&belay_ticket_drawn);
}

fn belay_enter_place(epoch: u32, invocations: u32) {
  let places = min(2304u, 147456u / invocations);
  belay_place = belay_pair % places;
  belay_place_is_free = belay_pair < places;
  belay_stamp = epoch * 0x9e3779b1u + belay_pair + 1u;
  belay_stamp_before = belay_stamp - places;
  belay_mail = belay_place * 8u * invocations + belay_local;
  belay_mail_stride = invocations;
}

fn belay_wait_ran_out(site: u32) {
  atomicStore(&belay_given_up, 1u);
  atomicStore(&belay_report.has_run_out, 1u);
  belay_record(site, 3u, 0u, vec4<u32>());
}

fn belay_leave_place() {
  workgroupBarrier();
  if (belay_local == 0u) {
    let place = &belay_report.places[belay_place];
    let has_given_up = atomicLoad(&belay_given_up) != 0u;
    for (var i = 0u; i < belay_patience && !(belay_place_is_free | has_given_up); i++) {
      let found = atomicLoad(place);
      belay_place_is_free = (found == ~belay_stamp_before) | ((found | 0x80000000u) == (belay_stamp | 0x80000000u));
    }
    if (!(belay_place_is_free | has_given_up)) {
      belay_wait_ran_out(0u);
    }
    let mark = belay_stamp + select(0u, 0x80000000u, has_given_up);
    if ((atomicExchange(place, mark) | 0x80000000u) == (belay_stamp | 0x80000000u)) {
      atomicStore(place, ~belay_stamp);
    }
  }
}
