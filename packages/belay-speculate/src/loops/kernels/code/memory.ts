import type { CombiningOperator, ElementType, LoopArray, NumberType } from "../../tree/ir.ts";
import { convert } from "./expressions.ts";
import { fromBits, toBits, wgslName, wgslType } from "./names.ts";

/**
 * The access of a kernel to an array. Elements are passed as the bits of their value as an i32, u32
 * or f32. In memory they lie as in the typed array: elements of 8 and 16 bits are packed. They are
 * stored with atomics on their word, so that invocations may store to neighbors. An array of
 * doubles has two elements for each, its words.
 */
export type ArrayAccess = "read" | "write";

/** Returns the type of an element's value before conversion. */
function valueType(element: ElementType): NumberType {
  if (element === "f64") return "u32";
  return element === "u32" || element === "f32" ? element : "i32";
}

const bitsOf: Readonly<Record<ElementType, 8 | 16 | 32>> = {
  i8: 8,
  u8: 8,
  u8c: 8,
  i16: 16,
  u16: 16,
  i32: 32,
  u32: 32,
  f32: 32,
  f64: 32,
};

/** The atomic operations of operators. */
const atomics: Readonly<Record<CombiningOperator, string>> = {
  "+": "atomicAdd",
  "&": "atomicAnd",
  "|": "atomicOr",
  "^": "atomicXor",
  min: "atomicMin",
  max: "atomicMax",
};

/** Returns the declared type of the array's buffer. */
export function bufferType({ element, operator }: LoopArray, access: ArrayAccess): string {
  if (operator) return `array<atomic<${element}>>`;
  return access === "write" && bitsOf[element] < 32 ? "array<atomic<u32>>" : "array<u32>";
}

/** Returns `fn peek_a(element: u32) -> u32`, which reads the element from memory. */
export function emitPeek(array: LoopArray, access: ArrayAccess): string {
  const name = wgslName(array.name);
  const bits = bitsOf[array.element];
  const read = (word: string) =>
    bufferType(array, access) === "array<u32>"
      ? `array_${name}[${word}]`
      : `atomicLoad(&array_${name}[${word}])`;
  if (array.operator)
    return `fn peek_${name}(element: u32) -> u32 { return ${toBits(valueType(array.element), read("element"))}; }`;
  if (bits === 32) return `fn peek_${name}(element: u32) -> u32 { return ${read("element")}; }`;
  const { word, shift } = within(bits);
  const packed = array.element.startsWith("i") ? `bitcast<i32>(${read(word)})` : read(word);
  // An NVIDIA driver compiles some fields from a variable offset to the word's end wrong.
  const field = `extractBits(${packed} >> (${shift}), 0u, ${bits}u)`;
  return `fn peek_${name}(element: u32) -> u32 {
  return ${toBits(array.element.startsWith("i") ? "i32" : "u32", field)};
}`;
}

/** Returns `fn poke_a(element: u32, bits: u32)`, which changes the element in memory. */
export function emitPoke(array: LoopArray): string {
  const name = wgslName(array.name);
  const bits = bitsOf[array.element];
  if (array.operator)
    return `fn poke_${name}(element: u32, bits: u32) {
  ${atomics[array.operator]}(&array_${name}[element], ${fromBits(valueType(array.element), "bits")});
}`;
  if (bits === 32) return `fn poke_${name}(element: u32, bits: u32) { array_${name}[element] = bits; }`;
  const { word, shift } = within(bits);
  const mask = `0x${(2 ** bits - 1).toString(16)}u`;
  // Each atomic changes this element's bits only, so others may change the rest of the word in
  // between.
  return `fn poke_${name}(element: u32, bits: u32) {
  let shift = ${shift};
  atomicAnd(&array_${name}[${word}], ~(${mask} << shift));
  atomicOr(&array_${name}[${word}], (bits & ${mask}) << shift);
}`;
}

function within(bits: 8 | 16): { word: string; shift: string } {
  return bits === 8
    ? { word: "element >> 2u", shift: "(element & 3u) * 8u" }
    : { word: "element >> 1u", shift: "(element & 1u) * 16u" };
}

/**
 * Returns `fn get_a_i32(element: u32) -> i32`, which loads through the engine's `load_a` and
 * converts. An element outside the array is `undefined` in JavaScript, so the iteration bails out.
 */
export function emitGet(array: LoopArray, type: NumberType): string {
  const name = wgslName(array.name);
  const loaded = valueType(array.element);
  return `fn get_${name}_${type}(element: u32) -> ${type} {
  if (element >= params.length_${name}) { bail_out(BAIL_OUT_OUTSIDE); return ${type}(0); }
  return ${convert(loaded, type, fromBits(loaded, `load_${name}(element)`))};
}`;
}

/**
 * Returns `fn take_a_i32(element: u32) -> i32`, which loads and converts an element that exists.
 */
export function emitTake(array: LoopArray, type: NumberType): string {
  const name = wgslName(array.name);
  const loaded = valueType(array.element);
  return `fn take_${name}_${type}(element: u32) -> ${type} {
  return ${convert(loaded, type, fromBits(loaded, `load_${name}(element)`))};
}`;
}

/**
 * Returns `fn put_a_i32(element: u32, value: i32)`, which converts as the typed array does and
 * stores through the engine's `store_a`. JavaScript ignores a store to an element outside the
 * array. It makes a plain array longer, so the iteration bails out.
 */
export function emitPut(array: LoopArray, type: NumberType): string {
  const name = wgslName(array.name);
  const outside = array.isCopy
    ? `\n  if (element >= params.length_${name}) { bail_out(BAIL_OUT_OUTSIDE); }`
    : "";
  return `fn put_${name}_${type}(element: u32, value: ${wgslType(type)}) {${outside}
  if (element < params.length_${name} && !bailed_out) { store_${name}(element, ${storedBits(array.element, type)}); }
}`;
}

/** Returns the bits that the array's element has after a store of `value`, of the given type. */
function storedBits(element: ElementType, type: NumberType): string {
  switch (element) {
    case "u8c":
      if (type === "f32" || type === "f64") return `clamp_${type}(value)`;
      return type === "u32" ? "min(value, 255u)" : "bitcast<u32>(clamp(value, 0i, 255i))";
    case "i8":
    case "i16":
      return toBits("i32", `extractBits(${convert(type, "i32", "value")}, 0u, ${bitsOf[element]}u)`);
    case "u8":
    case "u16":
      return `extractBits(${convert(type, "u32", "value")}, 0u, ${bitsOf[element]}u)`;
    default: {
      const stored = valueType(element);
      return toBits(stored, convert(type, stored, "value"));
    }
  }
}
