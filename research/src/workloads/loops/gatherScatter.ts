/**
 * `a[p[i]] = f(a[q[i]])`: accesses that no compiler can tell apart, and that meet as rarely as the
 * input says. With a rate of zero, `q` equals the permutation `p`, and every iteration has an
 * element of its own.
 */
import { verifyExact } from "../program.ts";
import { randomWord, randomWords } from "../random.ts";
import { kept, type LoopProgram } from "./loopProgram.ts";

export async function gatherScatter(a: Uint32Array, p: Uint32Array, q: Uint32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a)
  for (let i = 0; i < p.length; i++) {
    a[p[i]!] = (Math.imul(a[q[i]!]!, 1664525) + 1013904223) >>> 0;
  }
}

export interface GatherScatterOptions {
  readonly length?: number;
  /** The fraction of iterations that read the element written by the iteration before. */
  readonly rate?: number;
}

export function create(options: GatherScatterOptions = {}): LoopProgram<Parameters<typeof gatherScatter>> {
  const { length = 2 ** 24, rate = 0 } = options;
  const p = randomPermutation(length, 1);
  const q = p.map((own, i) => (i > 0 && randomWord(2, i) < rate * 2 ** 32 ? p[i - 1]! : own));
  const initial = () => randomWords(length, 3);
  // An iteration whose source is its predecessor's target continues with the predecessor's value,
  // so one value follows each run of such iterations. The product has fewer than 53 bits.
  const reference = kept(() => {
    const before = initial();
    const expected = new Uint32Array(length);
    let value = 0;
    for (let i = 0; i < length; i++) {
      value = i > 0 && q[i] === p[i - 1] ? value : before[q[i]!]!;
      value = (value * 1664525 + 1013904223) % 2 ** 32;
      expected[p[i]!] = value;
    }
    return expected;
  });
  return {
    iterations: length,
    inputs: () => [initial(), p.slice(), q.slice()],
    verify: ([a]) => verifyExact("a", a, reference()),
  };
}

/**
 * Returns all numbers below `length` in random order. It applies a bijection of the next power of
 * two until the result is in range. It needs no swaps, which miss the caches.
 */
export function randomPermutation(length: number, seed: number): Uint32Array<ArrayBuffer> {
  const bits = Math.max(2, Math.ceil(Math.log2(length)));
  const mask = 2 ** bits - 1;
  const rounds = Array.from({ length: 4 }, (_, round) => ({
    multiplier: randomWord(seed, 2 * round) | 1,
    increment: randomWord(seed, 2 * round + 1),
  }));
  const permutation = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    let place = i;
    do {
      for (const { multiplier, increment } of rounds) {
        place = (Math.imul(place, multiplier) + increment) & mask;
        place ^= place >>> (bits >> 1);
      }
    } while (place >= length);
    permutation[i] = place;
  }
  return permutation;
}
