/**
 * Evaluates packing, unpacking and packed dot products. Source: WGSL specification, "Data Packing
 * Built-in Functions" and "Data Unpacking Built-in Functions".
 */
import { f32Type, i32Type, type ScalarType, u32Type } from "../../types.ts";
import type { Value } from "../../values.ts";
import { scalars, vector } from "../components.ts";
import { halfFromBits, halfToBits, maxHalf, roundToHalf } from "../float16.ts";
import { type ConstantFunction, noValue } from "../folded.ts";
import { float, integerFromBits, numberOf } from "../scalars.ts";

type Width = 8 | 16;

const mask = (width: Width): number => 2 ** width - 1;

/** Returns the lanes of a word, starting with the least significant bits. */
function lanes(word: Value | undefined, width: Width): number[] {
  const bits = numberOf(word);
  return Array.from({ length: 32 / width }, (_, i) => (bits >>> (i * width)) & mask(width));
}

function signed(lane: number, width: Width): number {
  return (lane << (32 - width)) >> (32 - width);
}

function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/**
 * Returns a function that packs a vector by component. Bits of `encode` above the lane are dropped.
 */
function pack(width: Width, encode: (x: number) => number): ConstantFunction {
  return ([e]) => {
    const bits = scalars(e!).map((part, i) => (encode(numberOf(part)) & mask(width)) << (i * width));
    return integerFromBits(
      u32Type,
      bits.reduce((word, lane) => word | lane, 0),
    );
  };
}

function unpack(width: Width, type: ScalarType, decode: (lane: number) => number): ConstantFunction {
  return ([e]) =>
    vector(
      lanes(e, width).map((lane) =>
        type === f32Type ? float(type, decode(lane)) : integerFromBits(type, decode(lane)),
      ),
    );
}

function snorm(width: Width): readonly [ConstantFunction, ConstantFunction] {
  const scale = 2 ** (width - 1) - 1;
  return [
    pack(width, (x) => Math.floor(0.5 + scale * clamp(x, -1, 1))),
    unpack(width, f32Type, (lane) => Math.max(signed(lane, width) / scale, -1)),
  ];
}

function unorm(width: Width): readonly [ConstantFunction, ConstantFunction] {
  const scale = mask(width);
  return [
    pack(width, (x) => Math.floor(0.5 + scale * clamp(x, 0, 1))),
    unpack(width, f32Type, (lane) => lane / scale),
  ];
}

function packedDot(type: ScalarType, decode: (lane: number) => number): ConstantFunction {
  return ([a, b]) => {
    const others = lanes(b, 8).map(decode);
    return integerFromBits(
      type,
      lanes(a, 8).reduce((sum, lane, i) => sum + decode(lane) * others[i]!, 0),
    );
  };
}

const [pack4x8snorm, unpack4x8snorm] = snorm(8);
const [pack2x16snorm, unpack2x16snorm] = snorm(16);
const [pack4x8unorm, unpack4x8unorm] = unorm(8);
const [pack2x16unorm, unpack2x16unorm] = unorm(16);

export const packingFunctions: Readonly<Record<string, ConstantFunction>> = {
  dot4I8Packed: packedDot(i32Type, (lane) => signed(lane, 8)),
  dot4U8Packed: packedDot(u32Type, (lane) => lane),
  pack2x16float: pack(16, (x) =>
    Math.abs(x) > maxHalf ? noValue("value overflows f16") : halfToBits(roundToHalf(x)),
  ),
  pack2x16snorm,
  pack2x16unorm,
  pack4x8snorm,
  pack4x8unorm,
  pack4xI8: pack(8, (x) => x),
  pack4xI8Clamp: pack(8, (x) => clamp(x, -128, 127)),
  pack4xU8: pack(8, (x) => x),
  pack4xU8Clamp: pack(8, (x) => clamp(x, 0, 255)),
  unpack2x16float: unpack(16, f32Type, halfFromBits),
  unpack2x16snorm,
  unpack2x16unorm,
  unpack4x8snorm,
  unpack4x8unorm,
  unpack4xI8: unpack(8, i32Type, (lane) => signed(lane, 8)),
  unpack4xU8: unpack(8, u32Type, (lane) => lane),
};
