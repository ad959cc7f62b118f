/**
 * A synthetic loop in place of GOTHIC, the seventh of the paper, whose source is not public. Its
 * iterations do some arithmetic, and read and write at places from tables. A chosen fraction of
 * them needs the result of a recent iteration.
 *
 * Documented (Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014): such dependences are
 * rare. Chosen: all else.
 */
import { verifyExact } from "../program.ts";
import { randomBelow, randomWord, randomWords } from "../random.ts";
import { randomPermutation } from "./gatherScatter.ts";
import { kept, type LoopProgram } from "./loopProgram.ts";

const ROUNDS = 32;

function mix(word: number): number {
  let mixed = word;
  for (let round = 0; round < ROUNDS; round++) {
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
    mixed = (mixed ^ (mixed >>> 12)) >>> 0;
  }
  return mixed >>> 0;
}

export async function synthetic(values: Uint32Array, sources: Uint32Array, targets: Uint32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(values)
  for (let i = 0; i < targets.length; i++) {
    values[targets[i]!] = mix(values[sources[i]!]!);
  }
}

export interface SyntheticOptions {
  readonly iterations?: number;
  /** The fraction of iterations that read an element written by one of the last 64. */
  readonly rate?: number;
}

export function create(options: SyntheticOptions = {}): LoopProgram<Parameters<typeof synthetic>> {
  const { iterations = 2 ** 16, rate = 0.001 } = options;
  const targets = randomPermutation(iterations, 1).map((place) => iterations + place);
  const initial = () => randomWords(2 * iterations, 2);
  const sources = Uint32Array.from(targets, (_, i) => {
    const depends = i > 0 && randomWord(3, i) < rate * 2 ** 32;
    const recent = Math.min(i, 64);
    return depends ? targets[i - 1 - randomBelow(recent, 4, i)]! : randomBelow(iterations, 4, i);
  });
  // From any place back to the initial value, and forward again, without an order of iterations.
  const reference = kept(() => {
    const before = initial();
    const writers = new Int32Array(2 * iterations).fill(-1);
    targets.forEach((place, i) => {
      writers[place] = i;
    });
    return before.map((_, place) => {
      let mixings = 0;
      let source = place;
      for (; writers[source]! >= 0; mixings++) source = sources[writers[source]!]!;
      let expected = before[source]!;
      for (; mixings > 0; mixings--) expected = mix(expected);
      return expected;
    });
  });
  return {
    iterations,
    inputs: () => [initial(), sources.slice(), targets.slice()],
    verify: ([values]) => verifyExact("values", values, reference()),
  };
}
