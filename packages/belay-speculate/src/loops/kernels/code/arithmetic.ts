/**
 * WGSL functions for JavaScript's arithmetic where WGSL's differs. A function is emitted only if it
 * is called.
 * Parameters are never constant expressions, so no value here is rejected when the shader is
 * created.
 */
const library: Readonly<Record<string, string>> = {
  // WGSL rejects constant expressions that overflow. The result of a call is no constant
  // expression.
  opaque_i32: "fn opaque_i32(value: i32) -> i32 { return value; }",
  opaque_u32: "fn opaque_u32(value: u32) -> u32 { return value; }",
  opaque_f32: "fn opaque_f32(value: f32) -> f32 { return value; }",
  opaque_bool: "fn opaque_bool(value: bool) -> bool { return value; }",

  /** NaN and infinities have no literals. */
  f32_of_bits: "fn f32_of_bits(bits: u32) -> f32 { return bitcast<f32>(bits); }",

  /**
   * Returns a constant that no driver knows. NVIDIA's compiler (580.159) gives a subnormal constant
   * for any product with it, and so for quotients by constants whose reciprocal is subnormal. No
   * kernel is executed for no iterations, so `params.count` is never 0.
   */
  hidden_f32: `
fn hidden_f32(bits: u32) -> f32 {
  return bitcast<f32>(bits ^ select(0u, 1u, params.count == 0u));
}`,

  /**
   * Returns a product that no driver fuses with a sum, as its bits pass an operation whose result
   * no driver knows.
   */
  rounded_f32: `
fn rounded_f32(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ select(0u, 1u, params.count == 0u));
}`,

  /** Tests bits, because WGSL lets compilers assume that no value is NaN. */
  is_nan: "fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }",
  is_zero_f32: "fn is_zero_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0u; }",
  is_infinite_f32:
    "fn is_infinite_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }",
  is_minus_f32: "fn is_minus_f32(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) == 1u; }",
  /**
   * True for neither zero nor NaN. In a comparison, a driver may take subnormal numbers as zero.
   */
  is_true_f32:
    "fn is_true_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) - 1u < 0x7f800000u; }",

  /** A NaN that no compiler evaluates. */
  nan_f32: "fn nan_f32() -> f32 { return f32_of_bits(0x7fc00000u); }",
  infinity_f32: "fn infinity_f32() -> f32 { return f32_of_bits(0x7f800000u); }",
  with_sign_f32: `
fn with_sign_f32(x: f32, sign: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}`,

  /**
   * Returns an integer that orders as the number does. Comparisons use bits for two reasons. A
   * driver may take a subnormal number as zero. It may also turn `!(a < b)` into `a >= b`, which
   * differs if a side is NaN.
   */
  order_f32: `
fn order_f32(x: f32) -> i32 {
  let bits = bitcast<i32>(x);
  return select(bits, -(bits & 0x7fffffffi), bits < 0i);
}`,
  equal_f32: `
fn equal_f32(a: f32, b: f32) -> bool {
  let order = order_f32(a);
  return order == order_f32(b) && abs(order) <= 0x7f800000i;
}`,
  less_f32: `
fn less_f32(a: f32, b: f32) -> bool {
  let left = order_f32(a);
  let right = order_f32(b);
  return left < right && left >= -0x7f800000i && right <= 0x7f800000i;
}`,
  at_most_f32: `
fn at_most_f32(a: f32, b: f32) -> bool {
  let left = order_f32(a);
  let right = order_f32(b);
  return left <= right && left >= -0x7f800000i && right <= 0x7f800000i;
}`,

  divide_i32: `
fn divide_i32(a: i32, b: i32) -> i32 {
  if (b == 0i) { return 0i; }
  return a / b;
}`,
  floor_quotient_i32: `
fn floor_quotient_i32(a: i32, b: i32) -> i32 {
  return a / b - select(0i, 1i, a % b != 0i && (a < 0i) != (b < 0i));
}`,
  divide_u32: `
fn divide_u32(a: u32, b: u32) -> u32 {
  if (b == 0u) { return 0u; }
  return a / b;
}`,
  remainder_i32: `
fn remainder_i32(a: i32, b: i32) -> i32 {
  if (b == 0i || b == -1i) { return 0i; }
  return a % b;
}`,
  remainder_u32: `
fn remainder_u32(a: u32, b: u32) -> u32 {
  if (b == 0u) { return 0u; }
  return a % b;
}`,

  // JavaScript rounds a product to 53 bits before it takes the low 32, so a large product differs
  // from the wrapped one.
  multiply_i32: `
fn multiply_i32(a: i32, b: i32) -> i32 {
  let low = multiply_u32(bitcast<u32>(abs(a)), bitcast<u32>(abs(b)));
  return select(bitcast<i32>(low), bitcast<i32>(0u - low), (a < 0i) != (b < 0i));
}`,
  multiply_u32: `
fn multiply_u32(a: u32, b: u32) -> u32 {
  let low = a * b;
  let cross = (a >> 16u) * (b & 0xffffu) + (((a & 0xffffu) * (b & 0xffffu)) >> 16u);
  let middle = (cross & 0xffffu) + (a & 0xffffu) * (b >> 16u);
  let high = (a >> 16u) * (b >> 16u) + (cross >> 16u) + (middle >> 16u);
  if (high < 0x200000u) { return low; }
  let dropped = 11u - countLeadingZeros(high);
  let rest = low & ((1u << dropped) - 1u);
  let kept = low - rest;
  let half = 1u << (dropped - 1u);
  let up = rest > half || (rest == half && ((kept >> dropped) & 1u) == 1u);
  return select(kept, kept + (1u << dropped), up);
}`,

  // Integers that bail out unless the type holds the exact result.
  inexact_i32: `
fn inexact_i32() -> i32 {
  bail_out(BAIL_OUT_INEXACT);
  return 0i;
}`,
  inexact_u32: `
fn inexact_u32() -> u32 {
  bail_out(BAIL_OUT_INEXACT);
  return 0u;
}`,
  checked_add_i32: `
fn checked_add_i32(a: i32, b: i32) -> i32 {
  let sum = a + b;
  if (((a ^ sum) & (b ^ sum)) < 0i) { bail_out(BAIL_OUT_INEXACT); }
  return sum;
}`,
  checked_add_u32: `
fn checked_add_u32(a: u32, b: u32) -> u32 {
  let sum = a + b;
  if (sum < a) { bail_out(BAIL_OUT_INEXACT); }
  return sum;
}`,
  checked_subtract_i32: `
fn checked_subtract_i32(a: i32, b: i32) -> i32 {
  let difference = a - b;
  if (((a ^ b) & (a ^ difference)) < 0i) { bail_out(BAIL_OUT_INEXACT); }
  return difference;
}`,
  checked_subtract_u32: `
fn checked_subtract_u32(a: u32, b: u32) -> u32 {
  if (a < b) { bail_out(BAIL_OUT_INEXACT); }
  return a - b;
}`,
  checked_multiply_i32: `
fn checked_multiply_i32(a: i32, b: i32) -> i32 {
  let size = checked_multiply_u32(bitcast<u32>(abs(a)), bitcast<u32>(abs(b)));
  let isMinus = (a < 0i) != (b < 0i);
  if (size > select(0x7fffffffu, 0x80000000u, isMinus)) { bail_out(BAIL_OUT_INEXACT); }
  return select(bitcast<i32>(size), bitcast<i32>(0u - size), isMinus);
}`,
  checked_multiply_u32: `
fn checked_multiply_u32(a: u32, b: u32) -> u32 {
  let cross = (a >> 16u) * (b & 0xffffu) + (((a & 0xffffu) * (b & 0xffffu)) >> 16u);
  let middle = (cross & 0xffffu) + (a & 0xffffu) * (b >> 16u);
  let high = (a >> 16u) * (b >> 16u) + (cross >> 16u) + (middle >> 16u);
  if (high != 0u) { bail_out(BAIL_OUT_INEXACT); }
  return a * b;
}`,
  checked_remainder_i32: `
fn checked_remainder_i32(a: i32, b: i32) -> i32 {
  if (b == 0i) { bail_out(BAIL_OUT_INEXACT); }
  return remainder_i32(a, b);
}`,
  checked_remainder_u32: `
fn checked_remainder_u32(a: u32, b: u32) -> u32 {
  if (b == 0u) { bail_out(BAIL_OUT_INEXACT); }
  return remainder_u32(a, b);
}`,
  checked_negate_i32: `
fn checked_negate_i32(a: i32) -> i32 {
  if (a == i32(-2147483648)) { bail_out(BAIL_OUT_INEXACT); }
  return -a;
}`,
  checked_negate_u32: `
fn checked_negate_u32(a: u32) -> u32 {
  if (a != 0u) { bail_out(BAIL_OUT_INEXACT); }
  return 0u;
}`,
  checked_convert_i32: `
fn checked_convert_i32(a: u32) -> i32 {
  if (a > 0x7fffffffu) { bail_out(BAIL_OUT_INEXACT); }
  return bitcast<i32>(a);
}`,
  checked_convert_u32: `
fn checked_convert_u32(a: i32) -> u32 {
  if (a < 0i) { bail_out(BAIL_OUT_INEXACT); }
  return bitcast<u32>(a);
}`,

  /**
   * ToInt32 and ToUint32: truncates and wraps, where WGSL's conversion saturates. NaN and
   * infinities give 0.
   */
  wrap_f32: `
fn wrap_f32(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  let exponent = (bits >> 23u) & 0xffu;
  if (exponent < 127u || exponent > 181u) { return 0u; }
  let mantissa = (bits & 0x7fffffu) | 0x800000u;
  let magnitude = select(mantissa << (exponent - 150u), mantissa >> (150u - exponent), exponent < 150u);
  return select(magnitude, 0u - magnitude, (bits >> 31u) == 1u);
}`,

  /**
   * Returns the element that a number names. A fraction, a negative number and NaN give an element
   * outside every array.
   */
  element_of_f32: `
fn element_of_f32(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) == 0u) { return 0u; }
  if (bits < 0x3f800000u || bits >= 0x4f800000u || x != trunc(x)) { return 0xffffffffu; }
  return u32(x);
}`,

  clamp_f32: `
fn clamp_f32(x: f32) -> u32 {
  if (is_nan(x)) { return 0u; }
  return u32(round(clamp(x, 0f, 255f)));
}`,

  /**
   * A product with a zero, or a quotient by an infinity: a zero with the sign of the product, or
   * NaN.
   */
  times_zero_f32: `
fn times_zero_f32(x: f32, zero: f32) -> f32 {
  if (is_nan(x) || is_infinite_f32(x)) { return nan_f32(); }
  return bitcast<f32>((bitcast<u32>(x) ^ bitcast<u32>(zero)) & 0x80000000u);
}`,
  zero_over_f32: `
fn zero_over_f32(zero: f32, x: f32) -> f32 {
  if (is_nan(x) || is_zero_f32(x)) { return nan_f32(); }
  return bitcast<f32>((bitcast<u32>(x) ^ bitcast<u32>(zero)) & 0x80000000u);
}`,
  /** Adding 0 changes only −0, which becomes 0. */
  plus_zero_f32: `
fn plus_zero_f32(x: f32) -> f32 {
  if (is_zero_f32(x)) { return 0f; }
  return x;
}`,

  /**
   * Returns a quotient. WGSL leaves divisors beyond 2^126 open, and a driver that multiplies by the
   * reciprocal gives 0.
   */
  quotient_f32: `
fn quotient_f32(a: f32, b: f32) -> f32 {
  let scale = select(1f, 0.25f, (bitcast<u32>(b) & 0x7fffffffu) > 0x7e800000u);
  return (a * scale) / (b * scale);
}`,
  /** Selects bits. Between floats, a driver may take −0 for 0. */
  select_f32: `
fn select_f32(no: f32, yes: f32, test: bool) -> f32 {
  return bitcast<f32>(select(bitcast<u32>(no), bitcast<u32>(yes), test));
}`,
  negate_f32: "fn negate_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }",
  abs_f32: "fn abs_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); }",
  sign_f32: `
fn sign_f32(x: f32) -> f32 {
  if (is_zero_f32(x) || is_nan(x)) { return x; }
  return with_sign_f32(1f, x);
}`,

  /** Of two zeros, the negative one is less. */
  ascending_f32: `
fn ascending_f32(a: f32, b: f32) -> bool {
  let left = bitcast<i32>(a);
  let right = bitcast<i32>(b);
  return (left ^ ((left >> 31u) & 0x7fffffffi)) <= (right ^ ((right >> 31u) & 0x7fffffffi));
}`,
  min_f32: `
fn min_f32(a: f32, b: f32) -> f32 {
  if (is_nan(a)) { return a; }
  if (is_nan(b)) { return b; }
  return select_f32(b, a, ascending_f32(a, b));
}`,
  max_f32: `
fn max_f32(a: f32, b: f32) -> f32 {
  if (is_nan(a)) { return a; }
  if (is_nan(b)) { return b; }
  return select_f32(a, b, ascending_f32(a, b));
}`,

  /** Drops the fraction's bits. NaN, infinities and large numbers have none. */
  trunc_f32: `
fn trunc_f32(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  let exponent = (bits >> 23u) & 0xffu;
  if (exponent >= 150u) { return x; }
  if (exponent < 127u) { return bitcast<f32>(bits & 0x80000000u); }
  return bitcast<f32>(bits & ~(0x7fffffu >> (exponent - 127u)));
}`,
  floor_f32: `
fn floor_f32(x: f32) -> f32 {
  let whole = trunc_f32(x);
  if (!is_minus_f32(x) || bitcast<u32>(whole) == bitcast<u32>(x)) { return whole; }
  return whole - 1f;
}`,
  ceil_f32: `
fn ceil_f32(x: f32) -> f32 {
  let whole = trunc_f32(x);
  if (is_minus_f32(x) || bitcast<u32>(whole) == bitcast<u32>(x)) { return whole; }
  return whole + 1f;
}`,
  /** Rounds halves up; WGSL rounds them to even. */
  round_f32: `
fn round_f32(x: f32) -> f32 {
  let below = floor_f32(x);
  if (bitcast<u32>(below) == bitcast<u32>(x)) { return x; }
  return with_sign_f32(below + select(0f, 1f, x - below >= 0.5f), x);
}`,

  /** The exact remainder, eight bits of the quotient at a time. */
  remainder_f32: `
fn remainder_f32(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if (y == 0u || x >= 0x7f800000u || y > 0x7f800000u) { return nan_f32(); }
  if (x < y) { return a; }
  let exponent = max(y >> 23u, 1u);
  let divisor = select((y & 0x7fffffu) | 0x800000u, y, y < 0x800000u);
  var rest = select((x & 0x7fffffu) | 0x800000u, x, x < 0x800000u) % divisor;
  for (var left = max(x >> 23u, 1u) - exponent; left > 0u; ) {
    let bits = min(left, 8u);
    rest = (rest << bits) % divisor;
    left -= bits;
  }
  if (rest == 0u) { return with_sign_f32(0f, a); }
  let shift = min(countLeadingZeros(rest) - 8u, exponent - 1u);
  rest = rest << shift;
  let magnitude = select(rest, ((exponent - shift) << 23u) | (rest & 0x7fffffu), rest >= 0x800000u);
  return with_sign_f32(bitcast<f32>(magnitude), a);
}`,

  // Functions whose results WGSL leaves open outside of an interval, or for infinities, zeros and
  // NaN.
  sqrt_f32: `
fn sqrt_f32(x: f32) -> f32 {
  if (is_zero_f32(x) || is_nan(x)) { return x; }
  if (is_minus_f32(x)) { return nan_f32(); }
  if (is_infinite_f32(x)) { return x; }
  return sqrt(x);
}`,
  exp_f32: `
fn exp_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (less_f32(88.8f, x)) { return infinity_f32(); }
  if (less_f32(x, -104f)) { return 0f; }
  return exp(x);
}`,
  exp2_f32: `
fn exp2_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (at_most_f32(128f, x)) { return infinity_f32(); }
  if (less_f32(x, -150f)) { return 0f; }
  return exp2(x);
}`,
  log_f32: `
fn log_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (is_zero_f32(x)) { return f32_of_bits(0xff800000u); }
  if (is_minus_f32(x)) { return nan_f32(); }
  if (is_infinite_f32(x)) { return x; }
  return log(x);
}`,
  log2_f32: `
fn log2_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (is_zero_f32(x)) { return f32_of_bits(0xff800000u); }
  if (is_minus_f32(x)) { return nan_f32(); }
  if (is_infinite_f32(x)) { return x; }
  return log2(x);
}`,
  sin_f32: `
fn sin_f32(x: f32) -> f32 {
  if (is_nan(x) || is_infinite_f32(x)) { return nan_f32(); }
  if (is_zero_f32(x)) { return x; }
  return sin(x);
}`,
  cos_f32: `
fn cos_f32(x: f32) -> f32 {
  if (is_nan(x) || is_infinite_f32(x)) { return nan_f32(); }
  if (is_zero_f32(x)) { return 1f; }
  return cos(x);
}`,
  tan_f32: `
fn tan_f32(x: f32) -> f32 {
  if (is_nan(x) || is_infinite_f32(x)) { return nan_f32(); }
  if (is_zero_f32(x)) { return x; }
  return tan(x);
}`,
  asin_f32: `
fn asin_f32(x: f32) -> f32 {
  if (is_nan(x) || less_f32(1f, abs_f32(x))) { return nan_f32(); }
  if (is_zero_f32(x)) { return x; }
  return asin(x);
}`,
  acos_f32: `
fn acos_f32(x: f32) -> f32 {
  if (is_nan(x) || less_f32(1f, abs_f32(x))) { return nan_f32(); }
  if (equal_f32(x, 1f)) { return 0f; }
  return acos(x);
}`,
  atan_f32: `
fn atan_f32(x: f32) -> f32 {
  if (is_zero_f32(x) || is_nan(x)) { return x; }
  if (is_infinite_f32(x)) { return with_sign_f32(1.57079633f, x); }
  return atan(x);
}`,
  atan2_f32: `
fn atan2_f32(y: f32, x: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  let back = is_minus_f32(x);
  if (is_infinite_f32(x)) {
    let angle = select(select(0f, 3.14159265f, back), select(0.785398163f, 2.35619449f, back), is_infinite_f32(y));
    return with_sign_f32(angle, y);
  }
  if (is_zero_f32(y)) { return with_sign_f32(select(0f, 3.14159265f, back), y); }
  if (is_zero_f32(x) || is_infinite_f32(y)) { return with_sign_f32(1.57079633f, y); }
  return with_sign_f32(atan2(y, x), y);
}`,
  /** Half of a power, which may be finite when the power is not. */
  half_exp_f32: `
fn half_exp_f32(x: f32) -> f32 {
  if (less_f32(90f, x)) { return infinity_f32(); }
  let root = exp(0.5f * x);
  return (0.5f * root) * root;
}`,
  sinh_f32: `
fn sinh_f32(x: f32) -> f32 {
  if (is_zero_f32(x) || is_nan(x)) { return x; }
  if (less_f32(20f, abs_f32(x))) { return with_sign_f32(half_exp_f32(abs_f32(x)), x); }
  return sinh(x);
}`,
  cosh_f32: `
fn cosh_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (less_f32(20f, abs_f32(x))) { return half_exp_f32(abs_f32(x)); }
  return cosh(x);
}`,
  tanh_f32: `
fn tanh_f32(x: f32) -> f32 {
  if (is_zero_f32(x) || is_nan(x)) { return x; }
  if (less_f32(10f, abs_f32(x))) { return with_sign_f32(1f, x); }
  return tanh(x);
}`,

  /** Scales by powers of two, so that no square overflows or underflows, and needs no division. */
  hypot_f32: `
fn hypot_f32(a: f32, b: f32) -> f32 {
  if (is_infinite_f32(a) || is_infinite_f32(b)) { return infinity_f32(); }
  if (is_nan(a) || is_nan(b)) { return nan_f32(); }
  let most = max_f32(abs_f32(a), abs_f32(b));
  var scale = 1f;
  var back = 1f;
  if (less_f32(0x1p60f, most)) {
    scale = 0x1p-80f;
    back = 0x1p80f;
  } else if (less_f32(most, 0x1p-40f)) {
    scale = 0x1p80f;
    back = 0x1p-80f;
  }
  let x = a * scale;
  let y = b * scale;
  return sqrt(x * x + y * y) * back;
}`,

  /** WGSL leaves powers of negative numbers, infinities and zeros open. */
  pow_f32: `
fn pow_f32(x: f32, y: f32) -> f32 {
  if (is_zero_f32(y)) { return 1f; }
  if (is_nan(x) || is_nan(y)) { return nan_f32(); }
  let base = abs_f32(x);
  if (is_infinite_f32(y)) {
    if (equal_f32(base, 1f)) { return nan_f32(); }
    return select(0f, infinity_f32(), less_f32(1f, base) != is_minus_f32(y));
  }
  let isWhole = equal_f32(y, trunc_f32(y));
  let isOdd = isWhole && less_f32(abs_f32(y), 16777216f) && (u32(abs_f32(y)) & 1u) == 1u;
  let sign = select_f32(1f, x, isOdd);
  if (is_zero_f32(x) || is_infinite_f32(x)) {
    return with_sign_f32(select(0f, infinity_f32(), is_zero_f32(x) == is_minus_f32(y)), sign);
  }
  if (is_minus_f32(x) && !isWhole) { return nan_f32(); }
  if (equal_f32(base, 1f)) { return with_sign_f32(1f, sign); }
  return with_sign_f32(pow(base, y), sign);
}`,
};

/**
 * Returns the functions that the code calls, and those that they call: of the library, and of
 * `more`.
 */
export function arithmeticFor(code: string, more: Readonly<Record<string, string>> = {}): string {
  const all = { ...library, ...more };
  const called = new Set<string>();
  const visit = (text: string) => {
    for (const [word] of text.matchAll(/\b[a-z]\w*(?=\()/g)) {
      if (called.has(word) || !Object.hasOwn(all, word)) continue;
      called.add(word);
      visit(all[word]!);
    }
  };
  visit(code);
  return Object.keys(all)
    .filter((name) => called.has(name))
    .map((name) => all[name]!.trim())
    .join("\n\n");
}
