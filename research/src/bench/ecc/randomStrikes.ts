import { randomBelow } from "../../workloads/random.ts";

interface Struck {
  readonly granules: number;
  readonly wordsOfGranule: number;
  readonly wordsOfCode: number;
  readonly count: number;
  readonly bits: number;
}

/**
 * Returns words and masks of random flips of `bits` bits in one code word of each of `count`
 * granules, all of them different.
 */
export function randomStrikes(
  { granules, wordsOfGranule, wordsOfCode, count, bits }: Struck,
  random: (below: number) => number,
): Uint32Array<ArrayBuffer> {
  const strikes = new Uint32Array(2 * bits * count);
  const apart = Math.floor(granules / count);
  for (let i = 0; i < count; i++) {
    const first = (i * apart + random(apart)) * wordsOfGranule;
    const start = first + random(wordsOfGranule / wordsOfCode) * wordsOfCode;
    const places = new Set<number>();
    while (places.size < bits) places.add(random(32 * wordsOfCode));
    [...places].forEach((place, bit) => {
      strikes.set([start + (place >>> 5), 1 << (place & 31)], 2 * (bits * i + bit));
    });
  }
  return strikes;
}

/** Returns a function that draws whole numbers below its argument, the same for the same seed. */
export function randomNumbers(seed: number): (below: number) => number {
  let index = 0;
  return (below) => randomBelow(below, seed, index++);
}
