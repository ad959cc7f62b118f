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

/** Returns the combination of two values of a reduction. */
export function reduceValues({ operator, type }: Reduction, a: number, b: number): number {
  switch (operator) {
    case "+":
      return numberOf(type, bitsOf(type, a + b));
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
  }
}
