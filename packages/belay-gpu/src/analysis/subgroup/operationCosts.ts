/** Estimates the number of simple GPU operations for an operation of WGSL on one word. */
import type { BinaryExpression } from "../../wgsl/ast.ts";

const transcendental =
  /^(a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|exp2?|log2?|pow|sqrt|inverseSqrt|length|distance|normalize)$/;

/** The costs of operations, in simple operations per word. */
export const operationCosts = {
  binary: 1,
  /**
   * Returns the cost of a binary operator. `right` is the right operand if it is constant:
   * divisions by a constant become shifts, or a product and shifts.
   */
  operator({ operator }: BinaryExpression, right: number | undefined): number {
    if (operator !== "/" && operator !== "%") return 1;
    if (right === undefined) return 16;
    return Number.isInteger(Math.log2(right)) ? 1 : 4;
  },
  /**
   * Returns the cost of a built-in function. Special function units have an eighth of the lanes,
   * units for exchanges and bit counts a quarter.
   */
  builtin(name: string): number {
    if (transcendental.test(name)) return 8;
    if (/^(subgroup|quad|count|first|reverse)/.test(name)) return 4;
    if (/^(dot|fma|mix|clamp|texture)/.test(name)) return 2;
    return /^cross$/.test(name) ? 3 : 1;
  },
};
