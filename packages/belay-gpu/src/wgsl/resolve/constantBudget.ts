import type { Type } from "../types.ts";

/**
 * The size up to which constants are always evaluated, in scalars. The program's length bounds
 * their number.
 */
const smallConstant = 16;
/**
 * The largest constant that is evaluated, in scalars. The specification allows array values of at
 * most 2047 elements.
 */
const maxConstantSize = 65_536;
/**
 * The number of scalars that the large constants of a module may have together. Further ones stay
 * unknown.
 */
const maxConstantScalars = 1_000_000;

/**
 * The limit on constant evaluation: constants that would take too much time or memory stay unknown.
 */
export class ConstantBudget {
  #left = maxConstantScalars;

  /** Returns true if one more constant of a type is evaluated, and counts it. */
  affords(type: Type): boolean {
    const size = scalarCount(type);
    if (size <= smallConstant) return true;
    if (size > maxConstantSize || size > this.#left) return false;
    this.#left -= size;
    return true;
  }
}

const scalarCounts = new WeakMap<Type, number>();

function scalarCount(type: Type): number {
  let count = scalarCounts.get(type);
  if (count === undefined) {
    count = countScalars(type);
    scalarCounts.set(type, count);
  }
  return count;
}

function countScalars(type: Type): number {
  switch (type.kind) {
    case "vector":
      return type.size;
    case "matrix":
      return type.columns * type.rows;
    case "array":
      return typeof type.count === "number"
        ? type.count * scalarCount(type.element)
        : Number.POSITIVE_INFINITY;
    case "struct":
      return type.members.reduce((sum, member) => sum + scalarCount(member.type), 0);
    default:
      return 1;
  }
}
