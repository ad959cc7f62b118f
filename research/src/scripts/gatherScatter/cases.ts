/** The elements that the iterations of `gatherScatter` access. */
import { randomPermutation } from "../../workloads/loops/gatherScatter.ts";
import { randomBelow } from "../../workloads/random.ts";

export interface Accesses {
  readonly elements: number;
  /** The element that each iteration stores to; below, the one that it loads. */
  readonly p: Uint32Array<ArrayBuffer>;
  readonly q: Uint32Array<ArrayBuffer>;
}
const halves = (n: number): Accesses => ({
  elements: 2 * n,
  p: randomPermutation(n, 1),
  q: randomPermutation(n, 2).map((element) => element + n),
});
/** Returns accesses in which iterations load the element that the one `distance` away stores. */
const apart = (n: number, distance: number): Accesses => {
  const p = randomPermutation(n, 1);
  return { elements: n, p, q: p.map((own, i) => p[i + distance] ?? own) };
};
export const cases: Record<string, (n: number) => Accesses> = {
  /** Returns accesses in which every iteration changes one element, in random order. */
  update: (n) => apart(n, 0),
  /** Returns accesses from one half of the array to the other one. */
  independent: halves,
  /** Returns the same, but one in 65,536 iterations loads an element that some other one stores. */
  rare: (n) => {
    const { elements, p, q } = halves(n);
    for (let i = 0; i < n; i += 65_536) q[randomBelow(n, 3, i)] = p[randomBelow(n, 4, i)]!;
    return { elements, p, q };
  },
  /** Returns accesses in which iterations load elements that later ones store. */
  later: (n) => apart(n, 1000),
  /**
   * Returns accesses in which half of the iterations load an element that an earlier one stores, in
   * chains of about ten.
   */
  chains: (n) => ({ elements: n, p: randomPermutation(n, 1), q: randomPermutation(n, 2) }),
  /**
   * Returns accesses in which iterations load the element that the one a thousand before stores.
   */
  earlier: (n) => apart(n, -1000),
  /** Returns accesses in which iterations load the element that the one before stores. */
  chain: (n) => apart(n, -1),
};
