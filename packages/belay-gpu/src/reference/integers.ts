/**
 * The functions of integers and bits that generated code calls. Values of i32 are signed, those of
 * u32 are not, and those of bool are 0 and 1. Source: WGSL specification, "Integer Built-in
 * Functions" and "Arithmetic Expressions".
 */

/** Returns the quotient of i32. A division by zero returns the dividend. */
export function divideI32(a: number, b: number): number {
  return b === 0 ? a : (a / b) | 0;
}
/** Returns the remainder of i32. A division by zero returns zero. */
export function remainderI32(a: number, b: number): number {
  return b === 0 ? 0 : (a % b) | 0;
}
/** Returns the quotient of u32. A division by zero returns the dividend. */
export function divideU32(a: number, b: number): number {
  return b === 0 ? a : (a / b) >>> 0;
}
/** Returns the remainder of u32. A division by zero returns zero. */
export function remainderU32(a: number, b: number): number {
  return b === 0 ? 0 : a % b;
}

export function countOneBits(x: number): number {
  let bits = x - ((x >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
export function countTrailingZeros(x: number): number {
  return x === 0 ? 32 : 31 - Math.clz32(x & -x);
}
/** Returns the position of the highest bit, or all ones for zero. */
export function firstLeadingBitU32(x: number): number {
  return 31 - Math.clz32(x);
}
/** Returns the position of the highest bit that differs from the sign. */
export function firstLeadingBitI32(x: number): number {
  return 31 - Math.clz32(x < 0 ? ~x : x);
}
export function firstTrailingBit(x: number): number {
  return x === 0 ? -1 : 31 - Math.clz32(x & -x);
}
export function reverseBits(x: number): number {
  let bits = ((x >>> 1) & 0x55555555) | ((x & 0x55555555) << 1);
  bits = ((bits >>> 2) & 0x33333333) | ((bits & 0x33333333) << 2);
  bits = ((bits >>> 4) & 0x0f0f0f0f) | ((bits & 0x0f0f0f0f) << 4);
  bits = ((bits >>> 8) & 0x00ff00ff) | ((bits & 0x00ff00ff) << 8);
  return (bits >>> 16) | (bits << 16);
}
function fieldOf(offset: number, count: number): readonly [start: number, width: number] {
  const start = Math.min(offset, 32);
  return [start, Math.min(count, 32 - start)];
}
export function extractBitsU32(x: number, offset: number, count: number): number {
  const [start, width] = fieldOf(offset, count);
  return width === 0 ? 0 : (x << (32 - start - width)) >>> (32 - width);
}
export function extractBitsI32(x: number, offset: number, count: number): number {
  const [start, width] = fieldOf(offset, count);
  return width === 0 ? 0 : (x << (32 - start - width)) >> (32 - width);
}
export function insertBits(x: number, bits: number, offset: number, count: number): number {
  const [start, width] = fieldOf(offset, count);
  if (width === 0) return x;
  const mask = (0xffffffff >>> (32 - width)) << start;
  return (x & ~mask) | ((bits << start) & mask);
}

/** Returns byte `i` of a word. */
export function byteOf(x: number, i: number): number {
  return (x >>> (8 * i)) & 0xff;
}
/** Returns byte `i` of a word as a signed number. */
export function signedByteOf(x: number, i: number): number {
  return (x << (24 - 8 * i)) >> 24;
}
export function dot4U8Packed(a: number, b: number): number {
  return [0, 1, 2, 3].reduce((sum, i) => sum + byteOf(a, i) * byteOf(b, i), 0);
}
export function dot4I8Packed(a: number, b: number): number {
  return [0, 1, 2, 3].reduce((sum, i) => sum + signedByteOf(a, i) * signedByteOf(b, i), 0);
}
