/**
 * A small assembler for WebAssembly, sufficient for loops over vectors (WebAssembly 2.0, sections
 * 5.4 and 5.5).
 */

/** Instructions that leave one value on the stack, or none. */
export type Code = readonly number[];

/**
 * Returns a module with one page of memory, `memory`, and functions that take an i32 and return
 * one.
 */
export function moduleOf(functions: Readonly<Record<string, FunctionText>>): Uint8Array<ArrayBuffer> {
  const names = Object.keys(functions);
  const bodies = Object.values(functions).map(({ words, vectors, code }) => {
    const locals = [...vector([counted(words, I32), counted(vectors, V128)])];
    const body = [...locals, ...code, END];
    return [...unsigned(body.length), ...body];
  });
  const text = (name: string) => vector([...new TextEncoder().encode(name)].map((byte) => [byte]));
  const exported = names.map((name, i) => [...text(name), 0, ...unsigned(i)]);
  return Uint8Array.from([
    0,
    ...new TextEncoder().encode("asm"),
    1,
    0,
    0,
    0,
    ...section(1, [[0x60, 1, I32, 1, I32]]),
    ...section(
      3,
      names.map(() => [0]),
    ),
    ...section(5, [[0, 1]]),
    ...section(7, [[...text("memory"), 2, 0], ...exported]),
    ...section(10, bodies),
  ]);
}

/**
 * A function. Its locals are its argument, `words` numbers of type i32 and `vectors` of type v128.
 */
interface FunctionText {
  readonly words: number;
  readonly vectors: number;
  readonly code: Code;
}

const I32 = 0x7f;
const V128 = 0x7b;
const END = 0x0b;
const NO_VALUE = 0x40;

const unsigned = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
const signed = (value: number): number[] =>
  value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
const counted = (count: number, type: number) => [...unsigned(count), type];
const vector = (items: readonly (readonly number[])[]) => [...unsigned(items.length), ...items.flat()];
const section = (id: number, items: readonly (readonly number[])[]) => {
  const content = vector(items);
  return [id, ...unsigned(content.length), ...content];
};

export const local = {
  get: (index: number): Code => [0x20, ...unsigned(index)],
  set: (index: number, value: Code): Code => [...value, 0x21, ...unsigned(index)],
};

export const control = {
  /** Repeats its body while the condition at its end is not zero. */
  doWhile: (body: Code, condition: Code): Code => [0x03, NO_VALUE, ...body, ...condition, 0x0d, 0, END],
  returnIf: (condition: Code, value: Code): Code => [...condition, 0x04, NO_VALUE, ...value, 0x0f, END],
};

const binary =
  (opcode: number) =>
  (a: Code, b: Code): Code => [...a, ...b, opcode];

export const i32 = {
  constant: (value: number): Code => [0x41, ...signed(value)],
  add: binary(0x6a),
  lessThan: binary(0x49),
};

const simd = (opcode: number): Code => [0xfd, ...unsigned(opcode)];
const simdBinary =
  (opcode: number) =>
  (a: Code, b: Code): Code => [...a, ...b, ...simd(opcode)];
const simdShift =
  (opcode: number) =>
  (a: Code, by: number): Code => [...a, ...i32.constant(by), ...simd(opcode)];
/** Returns the immediate of an access aligned to vectors. */
const at = (offset: number) => [4, ...unsigned(offset)];

export const v128 = {
  load: (address: Code, offset: number): Code => [...address, ...simd(0x00), ...at(offset)],
  store: (address: Code, offset: number, value: Code): Code => [
    ...address,
    ...value,
    ...simd(0x0b),
    ...at(offset),
  ],
  constant: (bytes: readonly number[]): Code => [...simd(0x0c), ...bytes],
  and: simdBinary(0x4e),
  or: simdBinary(0x50),
  xor: simdBinary(0x51),
  isAnyBitSet: (a: Code): Code => [...a, ...simd(0x53)],
  /** Selects 16 bytes of two vectors, numbered one vector after the other. */
  shuffle: (a: Code, b: Code, places: readonly number[]): Code => [...a, ...b, ...simd(0x0d), ...places],
  /** Selects the bytes of a vector that the bytes of another one number. */
  swizzle: simdBinary(0x0e),
  shiftBytesRight: simdShift(0x6d),
  shiftWordsLeft: simdShift(0xab),
  shiftWordsRight: simdShift(0xad),
};
