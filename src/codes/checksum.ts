/**
 * A checksum over a whole buffer, which kernels add up while they load and store: no check word is stored or moved.
 *
 * Words are hashed in quads of four: h(i, w) = k(i) · t(w), where t(w) = Σ c_j · (w_j + (w_j >> 16)) and k(i) is an odd number that
 * looks random; a second sum takes the same t and the rotated key. Both are modulo 2^32, and independent of the order.
 *
 * What it sees (`checksum.test.ts` has all of it): each change of a single bit; any two bits of a quad; any two bits
 * elsewhere but for one in 2^34 pairs at least, as t shifts the upper half down, so that no bit of a word counts as more than
 * 2^15 and 17 bits of each key decide.
 *
 * Source: Blum, Evans, Gemmell, Kannan, Naor, "Checking the correctness of memories", 1994 (offline checking); the sum of
 * keyed products is that of Carter and Wegman.
 */

/** The factors of the words of a quad. */
const factors = [1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const;
/** What the words of a quad add to the count of places; they sum up to one, so that a whole quad adds its key. */
const places = [2, 4, 8, -13] as const;
const [multiplier, increment] = [0x9e3779b1, 0x7f4a7c15] as const;

/** Sums of a buffer: two of its contents. */
export type Sums = readonly [number, number];

/** 32-bit words of a checksum. */
export const checksumWords = 2;

/** Where kernels leave their sums: in slots, of which there are copies, so that few workgroups add to the same; words of a copy. */
export const slotStripes = 64;
export const stripeWords = 4;

/** The key of a quad; odd numbers are made of it. */
function keyOf(quad: number): number {
  const mixed = (Math.imul(quad, multiplier) + increment) | 0;
  return mixed ^ (mixed >>> 16);
}

const rotated = (key: number) => (key << 16) | (key >>> 16);

/** The sums of words from the beginning of a buffer on. Missing words of the last quad count as zero, as zeros count nothing. */
export function checksumOf(words: Uint32Array): Sums {
  let [first, second] = [0, 0];
  const folded = (word: number) => (word + (word >>> 16)) | 0;
  const add = (quad: number, sum: number) => {
    const key = keyOf(quad);
    first = (first + Math.imul(key | 1, sum)) | 0;
    second = (second + Math.imul(rotated(key) | 1, sum)) | 0;
  };
  const whole = words.length >>> 2;
  for (let quad = 0, at = 0; quad < whole; quad++, at += 4) {
    const sum =
      folded(words[at]!) +
      Math.imul(folded(words[at + 1]!), factors[1]) +
      Math.imul(folded(words[at + 2]!), factors[2]) +
      Math.imul(folded(words[at + 3]!), factors[3]);
    add(quad, sum | 0);
  }
  for (let at = 4 * whole; at < words.length; at++)
    add(whole, Math.imul(folded(words[at]!), factors[at % 4]!));
  return [first >>> 0, second >>> 0];
}

/** What a kernel counts as places that accesses each word from the first one on exactly once. */
export function placesOf(words: number): number {
  let sum = 0;
  const whole = words >>> 2;
  for (let quad = 0; quad < whole; quad++) sum = (sum + (keyOf(quad) | 1)) | 0;
  for (let at = 0; at < words % 4; at++) sum = (sum + Math.imul(keyOf(whole) | 1, places[at]!)) | 0;
  return sum >>> 0;
}

const hex = (value: number) => `0x${(value >>> 0).toString(16)}u`;
/** One of four constants, by the lowest bits of an index. */
const oneOf = (four: readonly number[]) =>
  `select(select(${hex(four[0]!)}, ${hex(four[1]!)}, (at & 1u) != 0u), select(${hex(four[2]!)}, ${hex(four[3]!)}, (at & 1u) != 0u), (at & 2u) != 0u)`;

/**
 * Declarations of WGSL, each name with `prefix` before it: what data adds to the two sums and, third, to the count of places.
 *
 * - `fn quad(quad: u32, data: vec4<u32>) -> vec3<u32>`, of four words in a row
 * - `fn pair(at: u32, data: vec2<u32>) -> vec3<u32>`, of two; `at` is the even index of the first word
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
  return ${prefix}weighted(quad, sum, 1u);
}
fn ${prefix}pair(at: u32, data: vec2<u32>) -> vec3<u32> {
  let folded = data + (data >> vec2<u32>(16u));
  let isUpper = (at & 2u) != 0u;
  let sum = folded.x * select(1u, ${third}, isUpper) + folded.y * select(${second}, ${fourth}, isUpper);
  return ${prefix}weighted(at >> 2u, sum, select(${hex(places[0] + places[1])}, ${hex(places[2] + places[3])}, isUpper));
}
fn ${prefix}word(at: u32, data: u32) -> vec3<u32> {
  let sum = (data + (data >> 16u)) * ${oneOf(factors)};
  return ${prefix}weighted(at >> 2u, sum, ${oneOf(places)});
}`;
}
