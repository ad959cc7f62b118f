import type { NumberType, Reduction } from "../../loops/tree/ir.ts";

const word = new DataView(new ArrayBuffer(4));

/** Returns the bits of a number as a value of the type, converted as by a typed array. */
export function bitsOf(type: NumberType, value: number): number {
  if (type === "f32") word.setFloat32(0, value);
  else word.setInt32(0, value);
  return word.getUint32(0);
}

/** Returns the value of the type that has these bits. */
export function numberOf(type: NumberType, bits: number): number {
  word.setUint32(0, bits);
  if (type === "f32") return word.getFloat32(0);
  return type === "i32" ? word.getInt32(0) : bits;
}

/** Returns the combination of two values of a reduction, of which `a` comes before `b`. */
export function reduceValues(reduction: Reduction, a: number, b: number): number {
  const { operator, type, wraps } = reduction;
  switch (operator) {
    case "+":
      return type === "f32" || wraps ? numberOf(type, bitsOf(type, a + b)) : a + b;
    case "*":
      return type === "f32" ? Math.fround(a * b) : numberOf(type, Math.imul(a, b) >>> 0);
    case "min":
      return Math.min(a, b);
    case "max":
      return Math.max(a, b);
    case "&":
      return numberOf(type, (a & b) >>> 0);
    case "|":
      return numberOf(type, (a | b) >>> 0);
    case "^":
      return numberOf(type, (a ^ b) >>> 0);
    default:
      return isChosen(reduction, a, b) ? b : a;
  }
}

/** Returns true if a choice takes the value `b` in place of `a`, which comes before. */
export function isChosen({ operator }: Reduction, a: number, b: number): boolean {
  switch (operator) {
    case ">":
      return b > a;
    case ">=":
      return b >= a;
    case "<":
      return b < a;
    case "<=":
      return b <= a;
    default:
      return operator === "=";
  }
}
