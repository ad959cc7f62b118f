/** Classifies types by their 32-bit words. */
import type { Type } from "../../wgsl/types.ts";

/** Returns true if a value consists of integers or truth values. */
export function isInteger(type: Type): boolean {
  if (type.kind === "array") return isInteger(type.element);
  const scalar = type.kind === "vector" || type.kind === "atomic" ? type.element : type;
  return scalar.kind === "scalar" && !/^(f16|f32|abstract-float)$/.test(scalar.name);
}

/** Returns true for scalars and vectors of signed integers. */
export function isSigned(type: Type): boolean {
  const scalar = type.kind === "vector" ? type.element : type;
  return scalar.kind === "scalar" && (scalar.name === "i32" || scalar.name === "abstract-int");
}

/** Returns the number of words that an operation on a value works on. */
export function wordsOf(type: Type): number {
  if (type.kind === "vector") return type.size;
  if (type.kind === "array") return typeof type.count === "number" ? type.count * wordsOf(type.element) : 0;
  if (type.kind === "struct") return type.members.reduce((sum, member) => sum + wordsOf(member.type), 0);
  return type.kind === "matrix" ? type.columns * type.rows : 1;
}
