/** The arithmetic of patterns: relations between the integers of neighboring invocations. */
import type { BinaryOperator } from "../wgsl/ast.ts";

/**
 * The relation between the integers of neighbors. All neighbors have one multiple of `multiple`
 * in common. With `ranks`, each adds its rank to it: its index modulo the number of neighbors.
 */
export interface NeighborPattern {
  readonly ranks: boolean;
  /** A power of two. */
  readonly multiple: number;
}

/** The largest power of two that is tracked. */
export const mostMultiple = 2 ** 30;

/** Returns the largest power of two that divides a constant. */
export const multipleOf = (value: number) =>
  value === 0 ? mostMultiple : Math.max(1, Math.min(mostMultiple, Math.abs(value & -value)));

/** Returns the pattern of a number that all neighbors share. */
export const same = (multiple: number): NeighborPattern => ({
  ranks: false,
  multiple: Math.min(mostMultiple, multiple),
});

/** Returns true if all neighbors have the same number. */
export const isSame = (pattern: NeighborPattern | null): boolean => pattern !== null && !pattern.ranks;

/** Returns the pattern of a variable that has either of two values. */
export function either(a: NeighborPattern | null, b: NeighborPattern | null): NeighborPattern | null {
  return a && b && a.ranks === b.ranks
    ? { ranks: a.ranks, multiple: Math.min(a.multiple, b.multiple) }
    : null;
}

/**
 * Returns the pattern of `a operator b` for `count` neighbors. `by` is the value of `b` if it is
 * constant.
 */
export function combined(
  count: number,
  operator: BinaryOperator,
  a: NeighborPattern | null,
  b: NeighborPattern | null,
  by: number | undefined,
): NeighborPattern | null {
  if (!a || !b || b.ranks)
    return operator === "+" && a && b && !a.ranks ? combined(count, "+", b, a, undefined) : null;
  const least = Math.min(a.multiple, b.multiple);
  if (operator === "+" || operator === "-") return { ranks: a.ranks, multiple: least };
  if (a.ranks) {
    // The rank is less than `count`, so adding it to a multiple of `count` never carries.
    if (a.multiple % count !== 0 || by === undefined || by <= 0 || by % count !== 0) return null;
    if (operator === "%") return { ranks: true, multiple: Math.min(a.multiple, multipleOf(by)) };
    return operator === "/" ? same(1) : null;
  }
  switch (operator) {
    case "*":
      return same(a.multiple * b.multiple);
    case "<<":
      return same(by === undefined ? a.multiple : a.multiple * 2 ** by);
    case "%":
      return same(least);
    default:
      return same(1);
  }
}
