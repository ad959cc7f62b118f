/**
 * Returns word number `index` of the stream that belongs to `seed`. A counter goes through an
 * integer hash, which is fast, can begin anywhere and has no bad seeds.
 *
 * Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014, with the
 * 32-bit mixer of Wellons, "Prospecting for hash functions", 2018.
 */
export function randomWord(seed: number, index: number): number {
  let word = Math.imul(seed, 0x85ebca6b) + Math.imul(index + 1, 0x9e3779b9);
  word ^= word >>> 16;
  word = Math.imul(word, 0x21f0aaad);
  word ^= word >>> 15;
  word = Math.imul(word, 0x735a2d97);
  return (word ^ (word >>> 15)) >>> 0;
}

/** Returns number `index` of a stream of whole numbers below `limit`, which is at most 2^32. */
export function randomBelow(limit: number, seed: number, index: number): number {
  return Math.floor((randomWord(seed, index) / 2 ** 32) * limit);
}

export function randomWords(length: number, seed: number): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(length);
  for (let i = 0; i < length; i++) words[i] = randomWord(seed, i);
  return words;
}

/** Returns floats in [-1, 1]. */
export function randomFloats(length: number, seed: number): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(length);
  for (let i = 0; i < length; i++) floats[i] = (randomWord(seed, i) | 0) / 2 ** 31;
  return floats;
}

/**
 * Returns whole numbers in [-magnitude, magnitude], as floats. Their sums and products are exact
 * while they are small.
 */
export function randomIntegers(length: number, magnitude: number, seed: number): Float32Array<ArrayBuffer> {
  const scale = (2 * magnitude + 1) / 2 ** 32;
  const floats = new Float32Array(length);
  for (let i = 0; i < length; i++) floats[i] = Math.trunc(randomWord(seed, i) * scale) - magnitude;
  return floats;
}

/** Yields every index below `count`, or a seeded sample of `limit` indices if that is fewer. */
export function* sampleIndices(count: number, limit: number, seed: number): Generator<number> {
  const sampled = count > limit;
  for (let i = 0; i < Math.min(count, limit); i++) yield sampled ? randomWord(seed, i) % count : i;
}
