/**
 * A checksum over a whole buffer, which kernels add up while they load and store. No check word is
 * stored or moved.
 *
 * Words are hashed in quads of four: h(i, w) = k(i) · t(w), where t(w) = Σ c_j · (w_j + (w_j >>
 * 16)). k(i) is an odd, pseudo-random number. A second sum takes the same t and the rotated key.
 * Both sums are modulo 2^32 and independent of the order.
 *
 * It detects each change of a single bit and of any two bits of a quad (`checksum.test.ts`). It
 * also detects one bit that flips in two words in opposite directions. Of all other pairs it misses
 * one in 2^32 at worst, and one in 2^40 on average. The upper half of a word is also added to the
 * lower half. No bit thus counts as more than 2^15, so that 16 bits of each key decide.
 *
 * Source:   Blum, Evans, Gemmell, Kannan, Naor, "Checking the correctness of memories", 1994
 *           (offline checking). The sum of keyed products is that of Carter and Wegman.
 */

/**
 * The factors of the words of a quad, 1 + j² · a. They take few operations for a j that is known at
 * run time only. No other four words have factors of the same sum, so these factors also count
 * places.
 */
const square = 0x85ebca6a;
const factors = [0, 1, 2, 3].map((j) => (1 + Math.imul(j * j, square)) | 0) as [
  number,
  number,
  number,
  number,
];
const ofQuad = factors.reduce((sum, factor) => (sum + factor) | 0);
const [multiplier, increment] = [0x9e3779b1, 0x7f4a7c15] as const;

/** The two sums of a buffer's contents. */
export type Sums = readonly [number, number];

/** The number of 32-bit words of a checksum. */
export const checksumWords = 2;

/**
 * The number of slots in which kernels leave their sums. Slots are consecutive, so that a workgroup
 * adds to several at once.
 */
export const mostSlots = 64;
/** The number of copies of all slots. With several, few workgroups add to the same words. */
export const slotStripes = 64;
/** The number of words of a slot in a stripe. One of them is unused. */
export const slotWords = 4;
/** The number of words of a stripe. */
export const stripeWords = slotWords * mostSlots;

/** Returns the key of a quad, from which odd factors are made. */
function keyOf(quad: number): number {
  const mixed = (Math.imul(quad, multiplier) + increment) | 0;
  return mixed ^ (mixed >>> 16);
}

/**
 * Returns the sums of words from the beginning of a buffer. Missing words of the last quad count as
 * zero and add nothing.
 */
export function checksumOf(words: Uint32Array): Sums {
  // Signed numbers make the loop several times as fast.
  const data = new Int32Array(words.buffer, words.byteOffset, words.length);
  const whole = data.length - (data.length % 4);
  const [a, b] = sumsOfQuads(data.subarray(0, whole), 0);
  if (whole === data.length) return [a >>> 0, b >>> 0];
  const last = new Int32Array(4);
  last.set(data.subarray(whole));
  const [c, d] = sumsOfQuads(last, whole / 4);
  return [(a + c) >>> 0, (b + d) >>> 0];
}

/**
 * Returns the sums of whole quads, the first of which has the index `first`. A read beyond the end,
 * or a sum that is no 32-bit integer, would make the engine compile the loop again and again.
 */
function sumsOfQuads(data: Int32Array, first: number): Sums {
  const [, second, third, fourth] = factors;
  let a = 0;
  let b = 0;
  let mixed = (increment + Math.imul(first, multiplier)) | 0;
  for (let at = 0; at < data.length; at += 4) {
    const w0 = data[at]!;
    const w1 = data[at + 1]!;
    const w2 = data[at + 2]!;
    const w3 = data[at + 3]!;
    const lower = (w0 + (w0 >>> 16) + Math.imul((w1 + (w1 >>> 16)) | 0, second)) | 0;
    const upper = (Math.imul((w2 + (w2 >>> 16)) | 0, third) + Math.imul((w3 + (w3 >>> 16)) | 0, fourth)) | 0;
    const key = mixed ^ (mixed >>> 16);
    const both = (lower + upper) | 0;
    a = (a + Math.imul(key | 1, both)) | 0;
    b = (b + Math.imul((key << 16) | (key >>> 16) | 1, both)) | 0;
    mixed = (mixed + multiplier) | 0;
  }
  return [a, b];
}

/**
 * Returns the count of places of a kernel that accesses each of the first `words` words exactly
 * once.
 */
export function placesOf(words: number): number {
  let sum = 0;
  const whole = words >>> 2;
  for (let quad = 0; quad < whole; quad++) sum = (sum + (keyOf(quad) | 1)) | 0;
  sum = Math.imul(sum, ofQuad);
  for (let at = 0; at < words % 4; at++) sum = (sum + Math.imul(keyOf(whole) | 1, factors[at]!)) | 0;
  return sum >>> 0;
}

const hex = (value: number) => `0x${(value >>> 0).toString(16)}u`;
/**
 * Returns WGSL declarations, each with `prefix` before its name. The functions return the amounts
 * that data adds to the two sums and to the count of places.
 *
 * - `fn quad(quad: u32, data: vec4<u32>) -> vec3<u32>`, for four consecutive words
 * - `fn pair(at: u32, data: vec2<u32>) -> vec3<u32>`, for two; `at` is the even index of the first
 *   word
 * - `fn word(at: u32, data: u32) -> vec3<u32>`, for one
 */
export function checksumWgsl(prefix: string): string {
  const [, second, third, fourth] = factors.map(hex);
  return `
fn ${prefix}weighted(quad: u32, sum: u32, places: u32) -> vec3<u32> {
  let mixed = quad * ${hex(multiplier)} + ${hex(increment)};
  let key = mixed ^ (mixed >> 16u);
  return vec3<u32>(key | 1u, ((key << 16u) | (key >> 16u)) | 1u, key | 1u) * vec3<u32>(sum, sum, places);
}
fn ${prefix}quad(quad: u32, data: vec4<u32>) -> vec3<u32> {
  let folded = data + (data >> vec4<u32>(16u));
  let sum = folded.x + folded.y * ${second} + folded.z * ${third} + folded.w * ${fourth};
  return ${prefix}weighted(quad, sum, ${hex(ofQuad)});
}
fn ${prefix}pair(at: u32, data: vec2<u32>) -> vec3<u32> {
  let folded = data + (data >> vec2<u32>(16u));
  let place = at & 2u;
  let first = place * place * ${hex(square)} + 1u;
  let second = first + (2u * place + 1u) * ${hex(square)};
  return ${prefix}weighted(at >> 2u, folded.x * first + folded.y * second, first + second);
}
fn ${prefix}word(at: u32, data: u32) -> vec3<u32> {
  let place = at & 3u;
  let factor = place * place * ${hex(square)} + 1u;
  return ${prefix}weighted(at >> 2u, (data + (data >> 16u)) * factor, factor);
}`;
}
