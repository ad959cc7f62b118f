/**
 * A checksum over a whole buffer, which kernels add up while they load and store: no check word is stored or moved.
 *
 * Words are hashed in quads of four: h(i, w) = k(i) · t(w), where t(w) = Σ c_j · (w_j + (w_j >> 16)) and k(i) is an odd number that
 * looks random; a second sum takes the same t and the rotated key. Both are modulo 2^32, and independent of the order.
 *
 * What it sees (`checksum.test.ts`): each change of a single bit; any two bits of a quad; the same bit that flips in two words in
 * opposite directions; and of all other pairs all but one in 2^32 at worst, one in 2^40 on average, as the upper half of a word
 * also counts as the lower one: no bit counts as more than 2^15, so that 16 bits of each key decide.
 *
 * Source: Blum, Evans, Gemmell, Kannan, Naor, "Checking the correctness of memories", 1994 (offline checking); the sum of
 * keyed products is that of Carter and Wegman.
 */

/**
 * The factors of the words of a quad, 1 + j² · a: few operations where j is known only when a
 * kernel runs. No four words but the four of a quad have factors of the same sum, so that these
 * count places.
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

/** Sums of a buffer: two of its contents. */
export type Sums = readonly [number, number];

/** 32-bit words of a checksum. */
export const checksumWords = 2;

/**
 * Where kernels leave their sums: in slots, one behind the other, so that a workgroup adds to
 * several in one go. There are stripes with copies of all of them, so that few workgroups add to
 * the same.
 */
export const mostSlots = 64;
export const slotStripes = 64;
/** Words of a slot in a stripe, one of which is none of the sums', and of a stripe. */
export const slotWords = 4;
export const stripeWords = slotWords * mostSlots;

/** The key of a quad; odd numbers are made of it. */
function keyOf(quad: number): number {
  const mixed = (Math.imul(quad, multiplier) + increment) | 0;
  return mixed ^ (mixed >>> 16);
}

/**
 * The sums of words from the beginning of a buffer on. Missing words of the last quad count as
 * zero, as zeros count nothing.
 */
export function checksumOf(words: Uint32Array): Sums {
  // Signed numbers, and nothing but numbers in the loop: several times as fast.
  const data = new Int32Array(words.buffer, words.byteOffset, words.length);
  const [, second, third, fourth] = factors;
  let a = 0;
  let b = 0;
  let mixed = increment | 0;
  for (let at = 0; at < data.length; at += 4) {
    const w0 = data[at]! | 0;
    const w1 = data[at + 1]! | 0;
    const w2 = data[at + 2]! | 0;
    const w3 = data[at + 3]! | 0;
    const lower = w0 + (w0 >>> 16) + Math.imul(w1 + (w1 >>> 16), second);
    const upper = Math.imul(w2 + (w2 >>> 16), third) + Math.imul(w3 + (w3 >>> 16), fourth);
    const key = mixed ^ (mixed >>> 16);
    a = (a + Math.imul(key | 1, (lower + upper) | 0)) | 0;
    b = (b + Math.imul((key << 16) | (key >>> 16) | 1, (lower + upper) | 0)) | 0;
    mixed = (mixed + multiplier) | 0;
  }
  return [a >>> 0, b >>> 0];
}

/** What a kernel counts as places that accesses each word from the first one on exactly once. */
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
 * Declarations of WGSL, each name with `prefix` before it: what data adds to the two sums and,
 * third, to the count of places.
 *
 * - `fn quad(quad: u32, data: vec4<u32>) -> vec3<u32>`, of four words in a row
 * - `fn pair(at: u32, data: vec2<u32>) -> vec3<u32>`, of two; `at` is the even index of the first
 *   word
 * - `fn word(at: u32, data: u32) -> vec3<u32>`
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
