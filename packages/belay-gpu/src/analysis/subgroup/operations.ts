/** How many simple operations GPUs make of an operation on a word. */
import type { BinaryExpression } from "../../wgsl/ast.ts";

const transcendental =
  /^(a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|exp2?|log2?|pow|sqrt|inverseSqrt|length|distance|normalize)$/;

export const operationsOf = {
  binary: 1,
  /**
   * `right`: the right operand, if it is a constant. Divisions by it become shifts, or a product
   * and shifts.
   */
  operator({ operator }: BinaryExpression, right: number | undefined): number {
    if (operator !== "/" && operator !== "%") return 1;
    if (right === undefined) return 16;
    return Number.isInteger(Math.log2(right)) ? 1 : 4;
  },
  /** Special units have an eighth of the lanes, those that exchange and count a quarter. */
  builtin(name: string): number {
    if (transcendental.test(name)) return 8;
    if (/^(subgroup|quad|count|first|reverse)/.test(name)) return 4;
    if (/^(dot|fma|mix|clamp|texture)/.test(name)) return 2;
    return /^cross$/.test(name) ? 3 : 1;
  },
};
