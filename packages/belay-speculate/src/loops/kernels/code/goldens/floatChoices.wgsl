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

fn load_a(element: u32) -> u32 {
  return peek_a(element);
}

fn store_a(element: u32, bits: u32) {
  poke_a(element, bits);
}

fn get_a_i32(element: u32) -> i32 {
  if (element >= params.length_a) { bail_out(BAIL_OUT_OUTSIDE); return i32(0); }
  return bitcast<i32>(load_a(element));
}

fn put_a_f32(element: u32, value: f32) {
  if (element < params.length_a && !bailed_out) { store_a(element, bitcast<u32>(bitcast<i32>(wrap_f32(value)))); }
}

fn start_reductions() {
}

fn iterate(index: i32) {
  var t0: u32;
  if ((index < 4i)) {
    t0 = bitcast<u32>(f32_of_bits(0x80000000u));
  } else {
    t0 = bitcast<u32>(f32(get_a_i32(bitcast<u32>(index))));
  }
  var v_x: u32 = bitcast<u32>(bitcast<f32>(t0));
  if ((index < 4i)) {
    v_x = bitcast<u32>(f32_of_bits(0x80000000u));
  }
  put_a_f32(bitcast<u32>(index), bitcast<f32>(v_x));
  put_a_f32(bitcast<u32>(index), select_f32(f32_of_bits(0x80000000u), 1f, (index < 4i)));
}