/**
 * A random permutation by Knuth's shuffle: each element swaps places with an earlier one or with
 * itself.
 *
 * Source: one of the loops of Blelloch, Fineman, Gibbons, Shun, "Internally deterministic parallel
 * algorithms can be fast", 2012. They show that iterations in order are the standard answer, and
 * that few of them depend on each other.
 */
import { randomBelow } from "../random.ts";
import { type LoopProgram, wrong } from "./loopProgram.ts";

export async function knuthShuffle(a: Uint32Array, partners: Uint32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a)
  for (let i = a.length - 1; i > 0; i--) {
    const partner = partners[i]!;
    const own = a[i]!;
    a[i] = a[partner]!;
    a[partner] = own;
  }
}

export function create({ length = 2 ** 16 } = {}): LoopProgram<Parameters<typeof knuthShuffle>> {
  const partners = Uint32Array.from({ length }, (_, i) => randomBelow(i + 1, 1, i));
  return {
    iterations: length - 1,
    inputs: () => [Uint32Array.from({ length }, (_, i) => i), partners.slice()],
    verify([shuffled]) {
      // The same swaps in the opposite order put every element back.
      const a = shuffled.slice();
      for (let i = 1; i < length; i++) [a[i], a[partners[i]!]] = [a[partners[i]!]!, a[i]!];
      const moved = a.findIndex((element, i) => element !== i);
      if (moved >= 0) return wrong(`element ${moved}, put back,`, a[moved], moved);
      return { ok: true, message: `all ${length} elements are where the shuffle puts them` };
    },
  };
}
