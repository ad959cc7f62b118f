/**
 * A loop in which every iteration needs the one before. It is the worst case, which speculation
 * must not make much worse.
 */
import { randomWord } from "../random.ts";
import { type LoopProgram, wrong } from "./loopProgram.ts";

const MULTIPLIER = 1664525;
const INCREMENT = 1013904223;
/** The inverse of MULTIPLIER modulo 2^32. */
const INVERSE = 0xfee058c5;
/** The distance between two elements that `verify` computes from the first element alone. */
const KNOWN = 1024;

export async function chain(a: Uint32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a)
  for (let i = 1; i < a.length; i++) {
    a[i] = (Math.imul(a[i - 1]!, MULTIPLIER) + INCREMENT) >>> 0;
  }
}

/** Creates a program for `length` elements, of which the first is given. */
export function create({ length = 2 ** 16 } = {}): LoopProgram<Parameters<typeof chain>> {
  return {
    iterations: length - 1,
    inputs() {
      const a = new Uint32Array(length);
      a[0] = randomWord(1, 0);
      return [a];
    },
    verify([a]) {
      // Every `KNOWN`th element is computed from the first one alone. The elements before it are
      // checked backwards from there, as a step has an inverse.
      for (let last = length - 1; last >= 0; last -= KNOWN) {
        let expected = after(last, randomWord(1, 0));
        for (let i = last; i > last - KNOWN && i >= 0; i--) {
          if (a[i] !== expected) return wrong(`a[${i}]`, a[i], expected);
          expected = Math.imul(expected - INCREMENT, INVERSE) >>> 0;
        }
      }
      return { ok: true, message: `all ${length} elements are exact` };
    },
  };
}

/**
 * Returns the element `steps` after `start` without those between: powers of an affine function by
 * repeated squaring.
 */
function after(steps: number, start: number): number {
  let value = start;
  let [multiplier, increment] = [MULTIPLIER, INCREMENT];
  for (let left = steps; left > 0; left >>>= 1) {
    if (left & 1) value = (Math.imul(value, multiplier) + increment) >>> 0;
    increment = (Math.imul(multiplier, increment) + increment) | 0;
    multiplier = Math.imul(multiplier, multiplier);
  }
  return value;
}
