/**
 * Evaluates the component-wise functions on the bits of i32 and u32. Source: WGSL specification,
 * "Numeric Built-in Functions".
 */
import type { ScalarType } from "../../types.ts";
import type { ScalarValue } from "../../values.ts";
import type { ScalarOperation } from "../components.ts";
import { noValue } from "../folded.ts";
import { integerFromBits, numberOf } from "../scalars.ts";

/** Returns an operation from a function of one 32-bit pattern to another. */
function onBits(compute: (bits: number, type: ScalarType) => number): ScalarOperation {
  return ([e], type) => integerFromBits(type, compute(numberOf(e) >>> 0, type));
}

function countOneBits(bits: number): number {
  return bits === 0 ? 0 : 1 + countOneBits((bits & (bits - 1)) >>> 0);
}

/** Returns the position of the lowest 1 bit, or -1 if there is none. */
const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits);

function reverseBits(bits: number): number {
  return Number.parseInt([...bits.toString(2).padStart(32, "0")].reverse().join(""), 2);
}

/**
 * Returns the range of bits `offset` to `offset + count - 1`, or an error if it exceeds the word.
 */
function field(offset: ScalarValue, count: ScalarValue): { offset: number; count: number } {
  const [first, width] = [numberOf(offset), numberOf(count)];
  return first + width > 32
    ? noValue("offset plus count is greater than 32")
    : { offset: first, count: width };
}

export const bitFunctions: Readonly<Record<string, ScalarOperation>> = {
  countLeadingZeros: onBits(Math.clz32),
  countOneBits: onBits(countOneBits),
  countTrailingZeros: onBits((bits) => (bits === 0 ? 32 : lowestBit(bits))),
  extractBits: ([e, at, size], type) => {
    const { offset, count } = field(at!, size!);
    if (count === 0) return integerFromBits(type, 0);
    const top = numberOf(e) << (32 - offset - count);
    return integerFromBits(type, type.name === "i32" ? top >> (32 - count) : top >>> (32 - count));
  },
  firstLeadingBit: onBits((bits, type) => 31 - Math.clz32(type.name === "i32" && bits >>> 31 ? ~bits : bits)),
  firstTrailingBit: onBits(lowestBit),
  insertBits: ([e, newBits, at, size], type) => {
    const { offset, count } = field(at!, size!);
    if (count === 0) return e!;
    const mask = (0xffffffff >>> (32 - count)) << offset;
    return integerFromBits(type, (numberOf(e) & ~mask) | ((numberOf(newBits) << offset) & mask));
  },
  reverseBits: onBits(reverseBits),
};
