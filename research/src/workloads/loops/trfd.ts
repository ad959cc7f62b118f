/**
 * TRFD of the Perfect Club, which transforms integrals over atomic orbitals into ones over
 * molecular orbitals. Its loop takes the place of each result from a table.
 *
 * Documented (Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014): 192 iterations, two of
 * which write the same element. Inferred: an iteration computes the product of a row of
 * coefficients and the integrals. Both have 40 whole numbers, so that f32 holds every sum. A larger
 * size has as many iterations for each such pair.
 */
import { randomBelow, randomIntegers } from "../random.ts";
import { randomPermutation } from "./gatherScatter.ts";
import { kept, type LoopProgram, wrong } from "./loopProgram.ts";

export async function trfd(
  transformed: Float32Array,
  places: Uint32Array,
  coefficients: Float32Array,
  integrals: Float32Array,
) {
  "use speculate";
  const orbitals = integrals.length;
  const rows = coefficients.length / orbitals;
  //#pragma omp for target(webgpu) speculate(transformed) precision(f32)
  for (let i = 0; i < places.length; i++) {
    const row = (i % rows) * orbitals;
    let sum = 0;
    for (let k = 0; k < orbitals; k++) sum += coefficients[row + k]! * integrals[k]!;
    transformed[places[i]!] = sum;
  }
}

const PERIOD = 192;
const ORBITALS = 40;
const MAGNITUDE = 15;
/**
 * The initial value of every element. No result equals it, and it remains if no iteration writes
 * the element.
 */
const UNWRITTEN = 0.5;

export interface TrfdOptions {
  /** The number of iterations, a multiple of 192. */
  readonly iterations?: number;
}

export function create(options: TrfdOptions = {}): LoopProgram<Parameters<typeof trfd>> {
  const { iterations = PERIOD } = options;
  const rows = Math.min(iterations, 16 * PERIOD);
  const places = randomPermutation(iterations, 1);
  for (let last = PERIOD - 1; last < iterations; last += PERIOD) {
    places[last] = places[last - 1 - randomBelow(PERIOD - 1, 2, last)]!;
  }
  const coefficients = randomIntegers(rows * ORBITALS, MAGNITUDE, 3);
  const integrals = randomIntegers(ORBITALS, MAGNITUDE, 4);
  const reference = kept(() => {
    const sums = Float64Array.from({ length: rows }, (_, row) => {
      const own = coefficients.subarray(row * ORBITALS, (row + 1) * ORBITALS);
      return own.reduceRight((sum, coefficient, k) => sum + coefficient * integrals[k]!, 0);
    });
    // The first writer from the end is the one whose result stays.
    const expected = new Float64Array(iterations).fill(UNWRITTEN);
    for (let i = iterations - 1; i >= 0; i--) {
      if (expected[places[i]!] === UNWRITTEN) expected[places[i]!] = sums[i % rows]!;
    }
    return expected;
  });
  return {
    iterations,
    inputs: () => [
      new Float32Array(iterations).fill(UNWRITTEN),
      places.slice(),
      coefficients.slice(),
      integrals.slice(),
    ],
    verify([transformed]) {
      const expected = reference();
      const place = transformed.findIndex((value, i) => value !== expected[i]);
      if (place >= 0) return wrong(`transformed[${place}]`, transformed[place], expected[place]!);
      return { ok: true, message: `all ${iterations} elements are exact` };
    },
  };
}
