import type { LoopData } from "../../loops/javascript/sequential.ts";
import type { ElementType } from "../../loops/tree/ir.ts";

/** The typed arrays by a loop's element type. */
export const typedArrays: Readonly<Record<ElementType, string>> = {
  i8: "Int8Array",
  u8: "Uint8Array",
  u8c: "Uint8ClampedArray",
  i16: "Int16Array",
  u16: "Uint16Array",
  i32: "Int32Array",
  u32: "Uint32Array",
  f32: "Float32Array",
  f64: "Float64Array",
};

/** The properties of typed arrays that an object or its class can hide. */
const hideable = [Symbol.toStringTag, "length", "buffer", "byteOffset", "byteLength"] as const;
const everyTypedArray: LoopData = Object.getPrototypeOf(Int32Array.prototype);

/** Returns true if a value is a typed array that loops can use. */
export function isTypedArray(value: unknown): value is LoopData {
  const tag = ArrayBuffer.isView(value) && Reflect.get(everyTypedArray, Symbol.toStringTag, value);
  return Object.values(typedArrays).some((name) => name === tag);
}

/**
 * Returns true if an array is a typed array, with no proxy before it and no property that hides the
 * typed array's own.
 */
export function isPlainTypedArray(host: LoopData | undefined): host is LoopData {
  if (!ArrayBuffer.isView(host)) return false;
  return hideable.every((name) => Reflect.get(everyTypedArray, name, host) === host[name]);
}
