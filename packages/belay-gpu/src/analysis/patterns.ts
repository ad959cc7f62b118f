/**
 * Integers of invocations that are neighbours: what they have in common, and how they follow one
 * another.
 */
import type { BinaryOperator } from "../wgsl/ast.ts";

/**
 * A number that neighbours have in common, a multiple of `multiple`; where `ranks`, each adds its
 * place among them to it: its index modulo how many they are.
 */
export interface Pattern {
  readonly ranks: boolean;
  /** A power of two. */
  readonly multiple: number;
}

export const mostMultiple = 2 ** 30;

/** The largest power of two that divides a constant. */
export const multipleOf = (value: number) =>
  value === 0 ? mostMultiple : Math.max(1, Math.min(mostMultiple, Math.abs(value & -value)));

export const same = (multiple: number): Pattern => ({
  ranks: false,
  multiple: Math.min(mostMultiple, multiple),
});

export const isSame = (pattern: Pattern | null): boolean => pattern !== null && !pattern.ranks;

/** What is known of a variable that has either value. */
export function either(a: Pattern | null, b: Pattern | null): Pattern | null {
  return a && b && a.ranks === b.ranks
    ? { ranks: a.ranks, multiple: Math.min(a.multiple, b.multiple) }
    : null;
}

/**
 * The pattern of `a operator b` for `count` neighbours; `by` is the value of `b`, if that is a
 * constant.
 */
export function combined(
  count: number,
  operator: BinaryOperator,
  a: Pattern | null,
  b: Pattern | null,
  by: number | undefined,
): Pattern | null {
  if (!a || !b || b.ranks)
    return operator === "+" && a && b && !a.ranks ? combined(count, "+", b, a, undefined) : null;
  const least = Math.min(a.multiple, b.multiple);
  if (operator === "+" || operator === "-") return { ranks: a.ranks, multiple: least };
  if (a.ranks) {
    // Neighbours never carry into a multiple of their number.
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
