/** Which elements the iterations of `gatherScatter` access. */
import { randomPermutation } from "../../workloads/loops/gatherScatter.ts";
import { randomBelow } from "../../workloads/random.ts";

export interface Accesses {
  readonly elements: number;
  /** What each iteration stores to, and loads. */
  readonly p: Uint32Array<ArrayBuffer>;
  readonly q: Uint32Array<ArrayBuffer>;
}
const halves = (n: number): Accesses => ({
  elements: 2 * n,
  p: randomPermutation(n, 1),
  q: randomPermutation(n, 2).map((element) => element + n),
});
/** Iterations load what the one `distance` away stores. */
const apart = (n: number, distance: number): Accesses => {
  const p = randomPermutation(n, 1);
  return { elements: n, p, q: p.map((own, i) => p[i + distance] ?? own) };
};
export const cases: Record<string, (n: number) => Accesses> = {
  /** Every iteration changes one element, in random order. */
  update: (n) => apart(n, 0),
  /** From one half of the array to the other one. */
  independent: halves,
  /** As before, but one in 65,536 iterations loads what some other one stores. */
  rare: (n) => {
    const { elements, p, q } = halves(n);
    for (let i = 0; i < n; i += 65_536) q[randomBelow(n, 3, i)] = p[randomBelow(n, 4, i)]!;
    return { elements, p, q };
  },
  /** Iterations load what later ones store. */
  later: (n) => apart(n, 1000),
  /** Half of the iterations load what an earlier one stores, in chains of about ten. */
  chains: (n) => ({ elements: n, p: randomPermutation(n, 1), q: randomPermutation(n, 2) }),
  /** Iterations load what the one a thousand before stores. */
  earlier: (n) => apart(n, -1000),
  /** Iterations load what the one before stores. */
  chain: (n) => apart(n, -1),
};
