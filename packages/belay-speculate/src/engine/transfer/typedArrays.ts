import type { LoopData } from "../../loops/javascript/sequential.ts";
import type { ElementType } from "../../loops/tree/ir.ts";

/** The typed arrays by the element type that a loop has for them. */
export const typedArrays: Readonly<Record<ElementType, string>> = {
  i8: "Int8Array",
  u8: "Uint8Array",
  u8c: "Uint8ClampedArray",
  i16: "Int16Array",
  u16: "Uint16Array",
  i32: "Int32Array",
  u32: "Uint32Array",
  f32: "Float32Array",
};

/** What typed arrays say of themselves, which an object or its class can hide. */
const telling = [Symbol.toStringTag, "length", "buffer", "byteOffset", "byteLength"] as const;
const everyTypedArray: LoopData = Object.getPrototypeOf(Int32Array.prototype);

/** Whether something is a typed array of those that loops use. */
export function isTypedArray(value: unknown): value is LoopData {
  const tag = ArrayBuffer.isView(value) && Reflect.get(everyTypedArray, Symbol.toStringTag, value);
  return Object.values(typedArrays).some((name) => name === tag);
}

/**
 * Whether an array is a typed array, with nothing before it that gets to see accesses or says
 * something else of it.
 */
export function isWhatItSays(host: LoopData | undefined): host is LoopData {
  if (!ArrayBuffer.isView(host)) return false;
  return telling.every((name) => Reflect.get(everyTypedArray, name, host) === host[name]);
}
