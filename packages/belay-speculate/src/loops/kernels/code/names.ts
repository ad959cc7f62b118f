import type { NumberType, ValueType } from "../../tree/ir.ts";

/**
 * Returns a name of the program as part of a WGSL identifier, different for different names.
 * Callers put a word before it (`get_${wgslName(name)}`), so the result is never a keyword.
 */
export function wgslName(name: string): string {
  const plain = /^[A-Za-z0-9]*$/;
  if (plain.test(name)) return name;
  return name.replace(/[^A-Za-z0-9]/gu, (letter) =>
    letter === "_" ? "__" : `_x${letter.codePointAt(0)!.toString(16)}_`,
  );
}

/** Returns the bits of a value of the type, as an expression of type u32. */
export function toBits(type: NumberType, value: string): string {
  return type === "u32" ? value : `bitcast<u32>(${value})`;
}

/** Returns the WGSL type of values of a type. */
export function wgslType(type: ValueType): string {
  return type === "f64" ? "vec2u" : type;
}

/** Returns a value of the type from an expression of type u32 that holds its bits. */
export function fromBits(type: NumberType, bits: string): string {
  return type === "u32" ? bits : `bitcast<${type}>(${bits})`;
}

/**
 * Returns the type of a variable that several statements set. A float is kept as its bits: NVIDIA's
 * compiler merges a constant −0 from one branch with a float from another into 0.
 */
export function variableType(type: ValueType): string {
  return type === "f32" ? "u32" : wgslType(type);
}

/** Returns the text to store a value in a variable of `variableType`. */
export function toVariable(type: ValueType, value: string): string {
  return type === "f32" ? toBits(type, value) : value;
}

/** Returns the value that a variable of `variableType` holds. */
export function fromVariable(type: ValueType, variable: string): string {
  return type === "f32" ? fromBits(type, variable) : variable;
}

/** Returns a zero of the type, as a literal. */
export function zero(type: ValueType): string {
  return { i32: "0i", u32: "0u", f32: "0f", f64: "vec2u()", bool: "false" }[type];
}
