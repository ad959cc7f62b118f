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

fn end_loop() {

}

fn misspeculate(nearest: i32, farthest: i32) {

}

fn load_carried__x24_last() -> u32 {
  return carried[0];
}

fn store_carried__x24_last(bits: u32) {
  carried[0] = bits;
}

var<private> reduced_sum: u32;
fn reduce_sum(value: i32) { reduced_sum = bitcast<u32>((bitcast<i32>(reduced_sum) + value)); }

var<private> reduced_best: u32;
fn reduce_best(value: f32) { reduced_best = bitcast<u32>(min_f32(bitcast<f32>(reduced_best), value)); }

fn start_reductions() {
  reduced_sum = bitcast<u32>(0i);
  reduced_best = bitcast<u32>(f32_of_bits(0x7f800000u));
}

fn iterate(index: i32) {
  store_carried__x24_last(bitcast<u32>(bitcast<f32>(load_carried__x24_last())));
  reduce_sum(index);
  reduce_best(f32(index));
  misspeculate(1i, 1i);
  misspeculate(-2i, -2i);
  misspeculate(0i, 0x7fffffffi);
  let t0 = bitcast<i32>(index - index);
  if (params.step != 0i && t0 % params.step == 0i) {
    misspeculate(t0 / params.step, t0 / params.step);
  }
  end_loop();
  return;
}