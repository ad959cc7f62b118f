/** Sources that are valid except for a few changes. */

/** A source, split into words, runs of blanks and single characters. */
export type Pieces = string[];
export const pieces = (source: string): Pieces => source.match(/\s+|[\p{L}\p{N}_]+|./gsu) ?? [];

export type Mutation = (mutant: Pieces, random: (below: number) => number) => void;

/** Returns a small generator of random numbers. Its seed makes a failing mutant reproducible. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Returns one of the seeds after one to four mutations. The same number gives the same mutant. */
export function mutant(seeds: readonly string[], mutations: readonly Mutation[], number: number): string {
  const random = randomFrom(number);
  const mutated = pieces(seeds[random(seeds.length)]!);
  for (let i = random(4); i >= 0; i--) {
    if (mutated.length > 0) mutations[random(mutations.length)]!(mutated, random);
  }
  return mutated.join("");
}
