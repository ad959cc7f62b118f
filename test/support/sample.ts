/**
 * Where all combinations of two lists would take minutes on a software adapter, each element of the
 * one meets only some of the other: in turn, so that none is left out. With `BELAY_EVERYTHING=1`
 * each meets all.
 */
export const everything = process.env.BELAY_EVERYTHING === "1";

/** The `count` of `items` that the element number `row` meets. */
export function sample<T>(items: readonly T[], row: number, count: number): T[] {
  if (everything || count >= items.length) return [...items];
  return Array.from({ length: count }, (_, i) => items[(row * count + i) % items.length]!);
}
