import type { Type } from "../types.ts";

/**
 * Constants of no more scalars than this are always evaluated: their number is bounded by the
 * program's length.
 */
const smallConstant = 16;
/**
 * The largest constant that is evaluated, in scalars; the specification lets no array value have
 * more than 2047 elements.
 */
const maxConstantSize = 65_536;
/** Scalars that the large constants of a module may have together; past it they stay unknown. */
const maxConstantScalars = 1_000_000;

/**
 * Which constants of a module are evaluated: all but those that would take a program's compiler too
 * long, or too much memory.
 */
export class ConstantBudget {
  #left = maxConstantScalars;

  /** Whether one more constant of a type is evaluated, which counts from then on. */
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
