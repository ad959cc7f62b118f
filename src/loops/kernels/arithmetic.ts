/**
 * JavaScript's arithmetic where WGSL's differs: functions that generated code calls, emitted only where they are called.
 *
 * Parameters are never constant expressions, so nothing here is refused at compile time for a value it has.
 */
const library: Readonly<Record<string, string>> = {
  // Constant expressions that overflow are errors in WGSL; behind a call an operand is no constant expression.
  opaque_i32: "fn opaque_i32(value: i32) -> i32 { return value; }",
  opaque_u32: "fn opaque_u32(value: u32) -> u32 { return value; }",
  opaque_f32: "fn opaque_f32(value: f32) -> f32 { return value; }",
  opaque_bool: "fn opaque_bool(value: bool) -> bool { return value; }",

  /** NaN and infinities have no literals. */
  f32_of_bits: "fn f32_of_bits(bits: u32) -> f32 { return bitcast<f32>(bits); }",

  /** Looks at the bits: WGSL lets compilers assume that no value is NaN. */
  is_nan: "fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }",
  /** Neither zero nor NaN. In a comparison, numbers too small to be normal may be zero. */
  is_true_f32:
    "fn is_true_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) - 1u < 0x7f800000u; }",

  divide_i32: `
fn divide_i32(a: i32, b: i32) -> i32 {
  if (b == 0i) { return 0i; }
  return a / b;
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

  // JavaScript rounds a product to 53 bits before it takes the low 32, so a large one differs from the wrapped one.
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

  /** ToInt32 and ToUint32: truncates and wraps, where WGSL's conversion saturates. NaN and infinities give 0. */
  wrap_f32: `
fn wrap_f32(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  let exponent = (bits >> 23u) & 0xffu;
  if (exponent < 127u || exponent > 181u) { return 0u; }
  let mantissa = (bits & 0x7fffffu) | 0x800000u;
  let magnitude = select(mantissa << (exponent - 150u), mantissa >> (150u - exponent), exponent < 150u);
  return select(magnitude, 0u - magnitude, (bits >> 31u) == 1u);
}`,

  /** The element that a number names; one that no array has for a fraction, a negative number or NaN. */
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

  min_f32: `
fn min_f32(a: f32, b: f32) -> f32 {
  if (is_nan(a)) { return a; }
  if (is_nan(b)) { return b; }
  return min(a, b);
}`,
  max_f32: `
fn max_f32(a: f32, b: f32) -> f32 {
  if (is_nan(a)) { return a; }
  if (is_nan(b)) { return b; }
  return max(a, b);
}`,

  /** Halves round up, where WGSL rounds them to even. */
  round_f32: `
fn round_f32(x: f32) -> f32 {
  let below = floor(x);
  return below + select(0f, 1f, x - below >= 0.5f);
}`,

  /** Scaled, so that no square overflows. */
  hypot_f32: `
fn hypot_f32(a: f32, b: f32) -> f32 {
  let scale = max(abs(a), abs(b));
  if (scale == 0f) { return 0f; }
  return scale * sqrt((a / scale) * (a / scale) + (b / scale) * (b / scale));
}`,

  /** WGSL leaves powers of negative numbers open. */
  pow_f32: `
fn pow_f32(x: f32, y: f32) -> f32 {
  if (y == 0f) { return 1f; }
  if (x >= 0f) { return pow(x, y); }
  if (y != trunc(y)) { return f32_of_bits(0x7fc00000u); }
  let odd = abs(y) < 16777216f && (u32(abs(y)) & 1u) == 1u;
  let magnitude = pow(-x, y);
  return select(magnitude, -magnitude, odd);
}`,
};

/** The functions of the library that the code calls, and those that they call. */
export function arithmeticFor(code: string): string {
  const called = new Set<string>();
  const visit = (text: string) => {
    for (const [word] of text.matchAll(/\b[a-z_]+[0-9]*[a-z_]*(?=\()/g)) {
      if (called.has(word) || !Object.hasOwn(library, word)) continue;
      called.add(word);
      visit(library[word]!);
    }
  };
  visit(code);
  return Object.keys(library)
    .filter((name) => called.has(name))
    .map((name) => library[name]!.trim())
    .join("\n\n");
}
