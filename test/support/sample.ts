/**
 * True if tests run all combinations of two lists, as with `BELAY_EVERYTHING=1`. They would take
 * minutes on a software adapter. By default, each element of one list meets only some of the other.
 * The elements take turns, so that none is left out.
 */
export const everything = process.env.BELAY_EVERYTHING === "1";

/** Returns the `count` elements of `items` that the element number `row` meets. */
export function sample<T>(items: readonly T[], row: number, count: number): T[] {
  if (everything || count >= items.length) return [...items];
  return Array.from({ length: count }, (_, i) => items[(row * count + i) % items.length]!);
}
