/**
 * A seeded stream of 32-bit words: a counter through an integer hash, so that it is fast and has no bad seeds.
 *
 * Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014, with the 32-bit mixer of
 * Wellons, "Prospecting for hash functions", 2018.
 */
export function createRandom(seed: number): () => number {
  let state = Math.imul(seed, 0x85ebca6b);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let word = state ^ (state >>> 16);
    word = Math.imul(word, 0x21f0aaad);
    word ^= word >>> 15;
    word = Math.imul(word, 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  };
}

export function randomWords(length: number, seed: number): Uint32Array<ArrayBuffer> {
  const next = createRandom(seed);
  const words = new Uint32Array(length);
  for (let i = 0; i < length; i++) words[i] = next();
  return words;
}

/** Floats in [-1, 1]. */
export function randomFloats(length: number, seed: number): Float32Array<ArrayBuffer> {
  const next = createRandom(seed);
  const floats = new Float32Array(length);
  for (let i = 0; i < length; i++) floats[i] = (next() | 0) / 2 ** 31;
  return floats;
}

/** Whole numbers in [-magnitude, magnitude], as floats: their sums and products are exact while they are small. */
export function randomIntegers(length: number, magnitude: number, seed: number): Float32Array<ArrayBuffer> {
  const next = createRandom(seed);
  const span = 2 * magnitude + 1;
  const floats = new Float32Array(length);
  for (let i = 0; i < length; i++) floats[i] = (next() % span) - magnitude;
  return floats;
}

/** Every index below `count`, or a seeded sample of `limit` of them where that is fewer. */
export function* sampleIndices(count: number, limit: number, seed: number): Generator<number> {
  const next = createRandom(seed);
  const sampled = count > limit;
  for (let i = 0; i < Math.min(count, limit); i++) yield sampled ? next() % count : i;
}
