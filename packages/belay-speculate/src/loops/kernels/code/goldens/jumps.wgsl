const BAIL_OUT_OUTSIDE = 1u;
const BAIL_OUT_FUEL = 2u;
const BAIL_OUT_OVERFLOW = 3u;
const BAIL_OUT_INEXACT = 4u;

/** The number of iterations that this iteration's inner loops may still run. */
var<private> fuel: u32;

var<private> bailed_out: bool;

fn report_bail_out(reason: u32) {

}

fn bail_out(reason: u32) {
  if (bailed_out) { return; }
  bailed_out = true;
  fuel = 0u;
  report_bail_out(reason);
}

fn start_reductions() {
}

fn iterate(index: i32) {
  var v_n: i32 = 0i;
  var leave_outer = 0u;
  loop {
    if (fuel == 0u) { bail_out(BAIL_OUT_FUEL); return; }
    fuel -= 1u;
    loop {
      if (fuel == 0u) { bail_out(BAIL_OUT_FUEL); return; }
      fuel -= 1u;
      if ((v_n > 30i)) {
        leave_outer = 1u;
        break;
      }
      if ((v_n > 20i)) {
        leave_outer = 2u;
        break;
      } else {
        break;
      }
    }
    if (leave_outer == 1u) { break; }
    if (leave_outer == 2u) { leave_outer = 0u; continue; }
    break;
    continuing {
      v_n = (v_n + 1i);
    }
  }
}