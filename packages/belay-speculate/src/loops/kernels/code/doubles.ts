/**
 * WGSL functions for JavaScript's doubles, by exact integer arithmetic. A double is the `vec2u` of
 * its bits: the low word, then the high word. All results are correctly rounded, with subnormal
 * numbers, infinities, NaN and −0. A function is emitted only if it is called.
 * An unpacked number is `vec3u(significand, exponent)`: 53 bits of which the first is set, times
 * `2^(exponent - 1075)`. The exponent is the bits of an i32.
 * Source: IEEE 754-2019; ECMAScript, "Number::add" and the clauses after it.
 */
export const doubleFunctions: Readonly<Record<string, string>> = {
  opaque_f64: "fn opaque_f64(value: vec2u) -> vec2u { return value; }",
  nan_f64: "fn nan_f64() -> vec2u { return vec2u(0u, 0x7ff80000u); }",

  // Integers of 64 bits.
  less_u64: `
fn less_u64(a: vec2u, b: vec2u) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}`,
  add_u64: `
fn add_u64(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}`,
  subtract_u64: `
fn subtract_u64(a: vec2u, b: vec2u) -> vec2u {
  return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}`,
  /** Shifts by at most 63 bits. */
  left_u64: `
fn left_u64(a: vec2u, by: u32) -> vec2u {
  let words = select(a, vec2u(0u, a.x), by >= 32u);
  let bits = by & 31u;
  return vec2u(words.x << bits, (words.y << bits) | ((words.x >> 1u) >> (31u - bits)));
}`,
  /** Shifts by at most 63 bits. */
  right_u64: `
fn right_u64(a: vec2u, by: u32) -> vec2u {
  let words = select(a, vec2u(a.y, 0u), by >= 32u);
  let bits = by & 31u;
  return vec2u((words.x >> bits) | ((words.y << 1u) << (31u - bits)), words.y >> bits);
}`,
  /**
   * Shifts an integer of at most 63 bits by any number of bits. The last bit of the result is set
   * if a set bit is lost.
   */
  sticky_right_u64: `
fn sticky_right_u64(a: vec2u, by: u32) -> vec2u {
  let shifted = right_u64(a, min(by, 63u));
  let is_exact = all(left_u64(shifted, min(by, 63u)) == a);
  return vec2u(shifted.x | select(1u, 0u, is_exact), shifted.y);
}`,
  /** Shifts by one bit if `is_shifted`. The last bit of the result is set if a set bit is lost. */
  sticky_half_u64: `
fn sticky_half_u64(a: vec2u, is_shifted: bool) -> vec2u {
  return select(a, vec2u((a.x >> 1u) | (a.y << 31u) | (a.x & 1u), a.y >> 1u), is_shifted);
}`,
  leading_zeros_u64: `
fn leading_zeros_u64(a: vec2u) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}`,
  /** Returns the product of two integers of 32 bits. */
  product_u64: `
fn product_u64(a: u32, b: u32) -> vec2u {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let first = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
  return vec2u((second << 16u) | (low & 0xffffu), (a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u));
}`,
  /**
   * Returns the high 64 bits of the product of two integers of 64 bits. The last bit is also set if
   * any of the others is.
   */
  high_product_u64: `
fn high_product_u64(a: vec2u, b: vec2u) -> vec2u {
  let low = product_u64(a.x, b.x);
  let first = add_u64(product_u64(a.x, b.y), vec2u(low.y, 0u));
  let second = add_u64(product_u64(a.y, b.x), vec2u(first.x, 0u));
  let carried = add_u64(vec2u(first.y, 0u), vec2u(second.y, 0u));
  let high = add_u64(product_u64(a.y, b.y), carried);
  return vec2u(high.x | select(0u, 1u, (low.x | second.x) != 0u), high.y);
}`,

  size_f64: "fn size_f64(x: vec2u) -> vec2u { return vec2u(x.x, x.y & 0x7fffffffu); }",
  is_zero_f64: "fn is_zero_f64(x: vec2u) -> bool { return (x.x | (x.y & 0x7fffffffu)) == 0u; }",
  is_nan_f64: `
fn is_nan_f64(x: vec2u) -> bool {
  return less_u64(vec2u(0u, 0x7ff00000u), size_f64(x));
}`,
  /** Returns a finite number that is not zero, unpacked. */
  unpack_f64: `
fn unpack_f64(x: vec2u) -> vec3u {
  let size = size_f64(x);
  let field = size.y >> 20u;
  if (field != 0u) { return vec3u(size.x, (size.y & 0xfffffu) | 0x100000u, field); }
  let by = leading_zeros_u64(size) - 11u;
  return vec3u(left_u64(size, by), 1u - by);
}`,
  /**
   * Rounds the number `significand * 2^(exponent - 1078)` to the nearest double, of two to the even
   * one. The first bit of the significand is bit 55, or the exponent is 1. The last bit stands for
   * all bits after it.
   */
  round_to_f64: `
fn round_to_f64(sign: u32, exponent: u32, significand: vec2u) -> vec2u {
  let rest = significand.x & 7u;
  let is_up = rest > 4u || (rest == 4u && (significand.x & 8u) != 0u);
  let whole = vec2u((significand.x >> 3u) | (significand.y << 29u), significand.y >> 3u);
  let rounded = add_u64(whole, vec2u(select(0u, 1u, is_up), 0u));
  // The first bit of a normal number adds one to the field of the exponent, and so may a carry.
  let finite = vec2u(rounded.x, ((exponent - 1u) << 20u) + rounded.y);
  let result = select(finite, vec2u(0u, 0x7ff00000u), exponent >= 2047u);
  return vec2u(result.x, result.y | sign);
}`,
  /** Rounds as `round_to_f64` does, for any exponent. */
  pack_f64: `
fn pack_f64(sign: u32, exponent: i32, significand: vec2u) -> vec2u {
  let field = max(exponent, 1i);
  let kept = sticky_right_u64(significand, bitcast<u32>(field - exponent));
  return round_to_f64(sign, bitcast<u32>(field), kept);
}`,

  negate_f64: "fn negate_f64(x: vec2u) -> vec2u { return vec2u(x.x, x.y ^ 0x80000000u); }",
  abs_f64: "fn abs_f64(x: vec2u) -> vec2u { return size_f64(x); }",
  /** Returns the significand of a finite number with three more bits; it may have leading zeros. */
  bits_f64: `
fn bits_f64(size: vec2u) -> vec2u {
  return left_u64(vec2u(size.x, (size.y & 0xfffffu) | select(0u, 0x100000u, size.y >= 0x100000u)), 3u);
}`,
  add_f64: `
fn add_f64(a: vec2u, b: vec2u) -> vec2u {
  let swaps = less_u64(size_f64(a), size_f64(b));
  let large = select(a, b, swaps);
  let first = size_f64(large);
  let second = size_f64(select(b, a, swaps));
  let differ = ((a.y ^ b.y) >> 31u) == 1u;
  let sign = large.y & 0x80000000u;
  if (first.y >= 0x7ff00000u) {
    if (is_nan_f64(large) || (differ && second.y >= 0x7ff00000u)) { return nan_f64(); }
    return large;
  }
  let exponent = max(first.y >> 20u, 1u);
  let left = bits_f64(first);
  let right = sticky_right_u64(bits_f64(second), exponent - max(second.y >> 20u, 1u));
  let sum = add_u64(left, right);
  let total = select(sum, subtract_u64(left, right), differ);
  if (differ && all(total == vec2u())) { return vec2u(); }
  let carry = total.y >> 24u;
  let by = min(max(leading_zeros_u64(total), 8u) - 8u, exponent - 1u);
  return round_to_f64(sign, exponent + carry - by, sticky_half_u64(left_u64(total, by), carry == 1u));
}`,
  subtract_f64: "fn subtract_f64(a: vec2u, b: vec2u) -> vec2u { return add_f64(a, negate_f64(b)); }",
  multiply_f64: `
fn multiply_f64(a: vec2u, b: vec2u) -> vec2u {
  let sign = (a.y ^ b.y) & 0x80000000u;
  let has_zero = is_zero_f64(a) || is_zero_f64(b);
  if (max(size_f64(a).y, size_f64(b).y) >= 0x7ff00000u) {
    if (has_zero || is_nan_f64(a) || is_nan_f64(b)) { return nan_f64(); }
    return vec2u(0u, sign | 0x7ff00000u);
  }
  if (has_zero) { return vec2u(0u, sign); }
  let x = unpack_f64(a);
  let y = unpack_f64(b);
  let product = high_product_u64(left_u64(x.xy, 11u), left_u64(y.xy, 11u));
  let carry = product.y >> 31u;
  let lost = select(0u, 1u, (product.x & 0x7fu) != 0u);
  let significand = vec2u((product.x >> 7u) | (product.y << 25u) | lost, product.y >> 7u);
  return pack_f64(sign, bitcast<i32>(x.z + y.z + carry) - 1023i, sticky_half_u64(significand, carry == 1u));
}`,
  divide_f64: `
fn divide_f64(a: vec2u, b: vec2u) -> vec2u {
  let sign = (a.y ^ b.y) & 0x80000000u;
  let is_infinite = size_f64(a).y >= 0x7ff00000u;
  let by_infinity = size_f64(b).y >= 0x7ff00000u;
  let by_zero = is_zero_f64(b);
  if (is_nan_f64(a) || is_nan_f64(b) || (is_infinite && by_infinity) || (by_zero && is_zero_f64(a))) {
    return nan_f64();
  }
  if (is_infinite || by_zero) { return vec2u(0u, sign | 0x7ff00000u); }
  if (by_infinity || is_zero_f64(a)) { return vec2u(0u, sign); }
  let x = unpack_f64(a);
  let y = unpack_f64(b);
  let shift = select(0u, 1u, less_u64(x.xy, y.xy));
  var rest = left_u64(x.xy, shift);
  var quotient = vec2u();
  for (var bit = 0u; bit < 56u; bit += 1u) {
    quotient = left_u64(quotient, 1u);
    if (!less_u64(rest, y.xy)) {
      rest = subtract_u64(rest, y.xy);
      quotient.x |= 1u;
    }
    rest = left_u64(rest, 1u);
  }
  quotient.x |= select(0u, 1u, any(rest != vec2u()));
  return pack_f64(sign, bitcast<i32>(x.z - y.z - shift) + 1023i, quotient);
}`,
  /** The exact remainder, one bit of the quotient at a time. */
  remainder_f64: `
fn remainder_f64(a: vec2u, b: vec2u) -> vec2u {
  if (size_f64(a).y >= 0x7ff00000u || is_zero_f64(b) || is_nan_f64(b)) { return nan_f64(); }
  if (less_u64(size_f64(a), size_f64(b))) { return a; }
  let x = unpack_f64(a);
  let y = unpack_f64(b);
  var rest = x.xy;
  for (var left = x.z - y.z; any(rest != vec2u()); left -= 1u) {
    if (!less_u64(rest, y.xy)) { rest = subtract_u64(rest, y.xy); }
    if (left == 0u) { break; }
    rest = left_u64(rest, 1u);
  }
  let sign = a.y & 0x80000000u;
  if (all(rest == vec2u())) { return vec2u(0u, sign); }
  let by = leading_zeros_u64(rest) - 8u;
  return pack_f64(sign, bitcast<i32>(y.z + 3u - by), left_u64(rest, by));
}`,
  sqrt_f64: `
fn sqrt_f64(x: vec2u) -> vec2u {
  if (is_zero_f64(x) || is_nan_f64(x)) { return x; }
  if ((x.y >> 31u) == 1u) { return nan_f64(); }
  if (x.y >= 0x7ff00000u) { return x; }
  let number = unpack_f64(x);
  let exponent = bitcast<i32>(number.z) - 1075i;
  // Each bit of the root follows from two bits of the number.
  let odd = bitcast<u32>(exponent) & 1u;
  var bits = left_u64(number.xy, 10u + odd);
  var rest = vec2u();
  var root = vec2u();
  for (var bit = 0u; bit < 56u; bit += 1u) {
    rest = left_u64(rest, 2u);
    rest.x |= bits.y >> 30u;
    bits = left_u64(bits, 2u);
    let trial = vec2u((root.x << 2u) | 1u, (root.y << 2u) | (root.x >> 30u));
    root = left_u64(root, 1u);
    if (!less_u64(rest, trial)) {
      rest = subtract_u64(rest, trial);
      root.x |= 1u;
    }
  }
  root.x |= select(0u, 1u, any(rest != vec2u()));
  return pack_f64(0u, ((exponent - bitcast<i32>(odd)) >> 1u) + 1049i, root);
}`,

  equal_f64: `
fn equal_f64(a: vec2u, b: vec2u) -> bool {
  return !is_nan_f64(a) && (all(a == b) || (is_zero_f64(a) && is_zero_f64(b)));
}`,
  /** Returns true if `a` is less. Of two zeros, the negative one is. Neither may be NaN. */
  ascending_f64: `
fn ascending_f64(a: vec2u, b: vec2u) -> bool {
  let is_minus = (a.y >> 31u) == 1u;
  if (((a.y ^ b.y) >> 31u) == 1u) { return is_minus; }
  return select(less_u64(a, b), less_u64(b, a), is_minus);
}`,
  less_f64: `
fn less_f64(a: vec2u, b: vec2u) -> bool {
  if (is_nan_f64(a) || is_nan_f64(b) || (is_zero_f64(a) && is_zero_f64(b))) { return false; }
  return ascending_f64(a, b);
}`,
  at_most_f64: "fn at_most_f64(a: vec2u, b: vec2u) -> bool { return less_f64(a, b) || equal_f64(a, b); }",
  is_true_f64: "fn is_true_f64(x: vec2u) -> bool { return !is_zero_f64(x) && !is_nan_f64(x); }",
  min_f64: `
fn min_f64(a: vec2u, b: vec2u) -> vec2u {
  if (is_nan_f64(a)) { return a; }
  return select(b, a, !is_nan_f64(b) && ascending_f64(a, b));
}`,
  max_f64: `
fn max_f64(a: vec2u, b: vec2u) -> vec2u {
  if (is_nan_f64(a)) { return a; }
  return select(b, a, !is_nan_f64(b) && ascending_f64(b, a));
}`,
  sign_f64: `
fn sign_f64(x: vec2u) -> vec2u {
  if (is_zero_f64(x) || is_nan_f64(x)) { return x; }
  return vec2u(0u, (x.y & 0x80000000u) | 0x3ff00000u);
}`,

  /** Drops the fraction's bits. NaN, infinities and large numbers have none. */
  trunc_f64: `
fn trunc_f64(x: vec2u) -> vec2u {
  let field = (x.y >> 20u) & 0x7ffu;
  if (field >= 1075u) { return x; }
  if (field < 1023u) { return vec2u(0u, x.y & 0x80000000u); }
  let by = 1075u - field;
  return left_u64(right_u64(x, by), by);
}`,
  floor_f64: `
fn floor_f64(x: vec2u) -> vec2u {
  let whole = trunc_f64(x);
  if ((x.y >> 31u) == 0u || all(whole == x)) { return whole; }
  return add_f64(whole, vec2u(0u, 0xbff00000u));
}`,
  ceil_f64: `
fn ceil_f64(x: vec2u) -> vec2u {
  let whole = trunc_f64(x);
  if ((x.y >> 31u) == 1u || all(whole == x)) { return whole; }
  return add_f64(whole, vec2u(0u, 0x3ff00000u));
}`,
  /** Rounds halves up. */
  round_f64: `
fn round_f64(x: vec2u) -> vec2u {
  let below = floor_f64(x);
  if (all(below == x)) { return x; }
  let is_up = !less_f64(subtract_f64(x, below), vec2u(0u, 0x3fe00000u));
  let whole = add_f64(below, vec2u(0u, select(0u, 0x3ff00000u, is_up)));
  return vec2u(whole.x, (whole.y & 0x7fffffffu) | (x.y & 0x80000000u));
}`,

  f64_of_u32: `
fn f64_of_u32(x: u32) -> vec2u {
  if (x == 0u) { return vec2u(); }
  let by = countLeadingZeros(x);
  let bits = x << by;
  return vec2u(bits << 21u, ((1053u - by) << 20u) + (bits >> 11u));
}`,
  f64_of_i32: `
fn f64_of_i32(x: i32) -> vec2u {
  let size = f64_of_u32(bitcast<u32>(abs(x)));
  return vec2u(size.x, size.y | (bitcast<u32>(x) & 0x80000000u));
}`,
  f64_of_f32: `
fn f64_of_f32(x: f32) -> vec2u {
  let bits = bitcast<u32>(x);
  let sign = bits & 0x80000000u;
  let field = (bits >> 23u) & 0xffu;
  let fraction = bits & 0x7fffffu;
  if (field == 0u) {
    if (fraction == 0u) { return vec2u(0u, sign); }
    let whole = f64_of_u32(fraction);
    return vec2u(whole.x, sign | (whole.y - (149u << 20u)));
  }
  let exponent = select(field + 896u, 2047u, field == 255u);
  return vec2u(fraction << 29u, sign | (exponent << 20u) | (fraction >> 3u));
}`,
  /** Returns the bits of the nearest f32, of two those of the even one. */
  f32_bits_of_f64: `
fn f32_bits_of_f64(x: vec2u) -> u32 {
  let sign = x.y & 0x80000000u;
  if (is_nan_f64(x)) { return 0x7fc00000u; }
  let field = (x.y >> 20u) & 0x7ffu;
  if (field >= 1151u) { return sign | 0x7f800000u; }
  if (field < 870u) { return sign; }
  let exponent = max(field, 897u) - 896u;
  let bits = (((x.y & 0xfffffu) | 0x100000u) << 6u) | (x.x >> 26u) | select(0u, 1u, (x.x << 6u) != 0u);
  let kept = sticky_right_u64(vec2u(bits, 0u), max(field, 897u) - field).x;
  let rest = kept & 7u;
  let whole = (kept >> 3u) + select(0u, 1u, rest > 4u || (rest == 4u && (kept & 8u) == 8u));
  return sign | (((exponent - 1u) << 23u) + whole);
}`,
  f32_of_f64: "fn f32_of_f64(x: vec2u) -> f32 { return bitcast<f32>(f32_bits_of_f64(x)); }",
  /** ToInt32 and ToUint32: truncates and wraps. NaN and infinities give 0. */
  wrap_f64: `
fn wrap_f64(x: vec2u) -> u32 {
  let field = (x.y >> 20u) & 0x7ffu;
  if (field < 1023u || field >= 1107u) { return 0u; }
  let significand = vec2u(x.x, (x.y & 0xfffffu) | 0x100000u);
  var size = 0u;
  if (field >= 1075u) {
    size = significand.x << (field - 1075u);
  } else {
    size = right_u64(significand, 1075u - field).x;
  }
  return select(size, 0u - size, (x.y >> 31u) == 1u);
}`,
  /**
   * Returns the element that a number names. A fraction, a negative number and NaN give an element
   * outside every array.
   */
  element_of_f64: `
fn element_of_f64(x: vec2u) -> u32 {
  if (is_zero_f64(x)) { return 0u; }
  if ((x.y >> 20u) > 1054u || any(trunc_f64(x) != x)) { return 0xffffffffu; }
  return wrap_f64(x);
}`,
  /** Rounds to an integer from 0 to 255, of two to the even one. */
  clamp_f64: `
fn clamp_f64(x: vec2u) -> u32 {
  if ((x.y >> 31u) == 1u || is_nan_f64(x)) { return 0u; }
  let field = x.y >> 20u;
  if (field >= 1031u) { return 255u; }
  if (field < 1022u) { return 0u; }
  let significand = vec2u(x.x, (x.y & 0xfffffu) | 0x100000u);
  let by = 1075u - field;
  let whole = right_u64(significand, by).x;
  let rest = left_u64(significand, 64u - by);
  let half = vec2u(0u, 0x80000000u);
  let is_up = less_u64(half, rest) || (all(rest == half) && (whole & 1u) == 1u);
  return min(whole + select(0u, 1u, is_up), 255u);
}`,

  /** Returns a word of an element. An element without words gives one outside every array. */
  word_of_element: `
fn word_of_element(element: u32, word: u32) -> u32 {
  return select(2u * element + word, 0xffffffffu, element >= 0x80000000u);
}`,
};
