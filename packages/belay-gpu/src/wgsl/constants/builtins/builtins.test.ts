import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { literal, outcome, scalar, vector } from "../../../../../../test/support/wgsl/constantValues.ts";
import { matrixType, vectorType } from "../../conversion.ts";
import { resultStruct } from "../../resolve/instantiate.ts";
import {
  abstractFloatType,
  abstractIntType,
  boolType,
  f16Type,
  f32Type,
  i32Type,
  type ScalarType,
  type Type,
  u32Type,
} from "../../types.ts";
import type { Value } from "../../values.ts";
import { foldBuiltin } from "../index.ts";

const call = (name: string, type: Type, ...args: Value[]) => outcome(foldBuiltin(name, args, type));
const f32 = (...values: number[]): Value =>
  values.length === 1 ? scalar(f32Type, values[0]!) : vector(...values.map((x) => scalar(f32Type, x)));

const u32 = (value: number): Value => scalar(u32Type, value);
const i32 = (value: number): Value => scalar(i32Type, value);

it.each(["dpdx", "atomicAdd", "arrayLength", "subgroupAdd", "constructor", "toString", ""])(
  "%j is not a const-function",
  (name) => {
    expect(foldBuiltin(name, [], f32Type)).toBeUndefined();
  },
);

describe("a function outside its domain has no value", () => {
  it.each<[string, number[], string]>([
    ["acos", [2], "argument of acos is outside its domain"],
    ["acosh", [0.5], "argument of acosh is outside its domain"],
    ["asin", [-1.5], "argument of asin is outside its domain"],
    ["atanh", [2], "argument of atanh is outside its domain"],
    ["atanh", [1], "result is not finite"],
    ["inverseSqrt", [0], "result is not finite"],
    ["log", [0], "result is not finite"],
    ["log2", [-1], "argument of log2 is outside its domain"],
    ["sqrt", [-1], "argument of sqrt is outside its domain"],
    ["pow", [-1, 2], "argument of pow is outside its domain"],
    ["pow", [0, -1], "result is not finite"],
    ["exp", [1000], "result is not finite"],
    ["cosh", [100], "result is not finite"],
    ["clamp", [0, 2, 1], "clamp's low bound is greater than its high bound"],
    ["smoothstep", [1, 1, 0], "the edges of smoothstep are equal"],
    ["quantizeToF16", [65505], "value overflows f16"],
  ])("%s(%s)", (name, args, reason) => {
    expect(call(name, f32Type, ...args.map((x) => f32(x)))).toBe(reason);
  });

  it.each<[string, Value[], string]>([
    ["normalize", [f32(0, 0)], "cannot normalize the zero vector"],
    ["length", [f32(3e38, 3e38)], "result is not finite"],
    ["pack2x16float", [f32(1, 65505)], "value overflows f16"],
    ["unpack2x16float", [u32(0x7c00)], "result is not finite"],
    ["bitcast", [u32(0x7f800000)], "result is not finite"],
    ["extractBits", [u32(1), u32(30), u32(3)], "offset plus count is greater than 32"],
    ["insertBits", [u32(1), u32(1), u32(33), u32(0)], "offset plus count is greater than 32"],
    ["ldexp", [f32(1), i32(129)], "exponent of ldexp is too large"],
    ["ldexp", [f32(2), i32(128)], "result is not finite"],
  ])("%s (%#)", (name, args, reason) => {
    expect(call(name, f32Type, ...args)).toBe(reason);
  });
});

describe("floats", () => {
  it("round to the nearest integer, ties to even", () => {
    const round = (x: number) => call("round", f32Type, f32(x));
    expect([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, -2.6, 8388609].map(round)).toEqual([
      0, 2, 2, -0, -2, 2, -3, 8388609,
    ]);
  });

  it("split into fraction and exponent, and join again", () => {
    const parts = (x: number) => call("frexp", resultStruct("__frexp_result", f32Type), f32(x));
    expect([parts(6), parts(-0.5), parts(0), parts(2 ** -149)]).toEqual([
      [0.75, 3],
      [-0.5, 0],
      [0, 0],
      [0.5, -148],
    ]);
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (x) => {
        const value = scalar(abstractFloatType, x);
        const split = foldBuiltin("frexp", [value], resultStruct("__frexp_result", abstractFloatType));
        if (!split?.ok || !("elements" in split.value)) throw new Error("frexp has a value for every number");
        expect(call("ldexp", abstractFloatType, ...split.value.elements)).toBe(x);
      }),
    );
  });

  it("scale by powers of two down to zero", () => {
    expect(call("ldexp", f32Type, f32(0.75), i32(-2147483648))).toBe(0);
    expect(call("ldexp", f32Type, f32(1.5), i32(-149))).toBe(2 ** -148);
    expect(call("ldexp", f16Type, scalar(f16Type, 1), i32(16))).toBe("result is not finite");
    expect(call("ldexp", f16Type, scalar(f16Type, 0.5), i32(16))).toBe(32768);
    expect(
      call("ldexp", abstractFloatType, scalar(abstractFloatType, 0.5), scalar(abstractIntType, 1024n)),
    ).toBe(2 ** 1023);
  });

  it("split into whole and fractional part, with the sign of the number", () => {
    expect(call("modf", resultStruct("__modf_result", vectorType(2, f32Type)), f32(-1.25, 3))).toEqual([
      [-0.25, 0],
      [-1, 3],
    ]);
  });

  it("lose the precision that binary16 lacks", () => {
    expect(call("quantizeToF16", vectorType(2, f32Type), f32(0.1, 65504))).toEqual([0.0999755859375, 65504]);
  });

  it("mix by a scalar or by components", () => {
    expect(call("mix", vectorType(2, f32Type), f32(0, 10), f32(4, 20), f32(0.5))).toEqual([2, 15]);
    expect(call("mix", vectorType(2, f32Type), f32(0, 10), f32(4, 20), f32(0.25, 1))).toEqual([1, 20]);
  });
});

describe("bits", () => {
  it.each<[string, ScalarType, number, number]>([
    ["countLeadingZeros", u32Type, 0, 32],
    ["countLeadingZeros", i32Type, -1, 0],
    ["countTrailingZeros", u32Type, 0, 32],
    ["countTrailingZeros", u32Type, 0x80000000, 31],
    ["countOneBits", i32Type, -1, 32],
    ["firstLeadingBit", i32Type, -1, -1],
    ["firstLeadingBit", i32Type, 0, -1],
    ["firstLeadingBit", i32Type, -2147483648, 30],
    ["firstLeadingBit", u32Type, 0, 0xffffffff],
    ["firstLeadingBit", u32Type, 0x80000000, 31],
    ["firstTrailingBit", u32Type, 0, 0xffffffff],
    ["firstTrailingBit", i32Type, 12, 2],
    ["reverseBits", u32Type, 1, 0x80000000],
    ["reverseBits", i32Type, 1, -2147483648],
    ["abs", i32Type, -2147483648, -2147483648],
    ["sign", i32Type, -7, -1],
  ])("%s of a %o", (name, type, value, result) => {
    expect(call(name, type, scalar(type, value))).toBe(result);
  });

  it("are extracted with the sign of the type and inserted in place", () => {
    expect(call("extractBits", u32Type, u32(0xf0), u32(4), u32(4))).toBe(15);
    expect(call("extractBits", i32Type, i32(0xf0), u32(4), u32(4))).toBe(-1);
    expect(call("extractBits", i32Type, i32(-1), u32(0), u32(32))).toBe(-1);
    expect(call("extractBits", u32Type, u32(5), u32(32), u32(0))).toBe(0);
    expect(call("insertBits", u32Type, u32(0xffffffff), u32(0), u32(8), u32(8))).toBe(0xffff00ff);
    expect(call("insertBits", u32Type, u32(1), u32(0xabcd), u32(0), u32(32))).toBe(0xabcd);
    expect(call("insertBits", u32Type, u32(7), u32(0), u32(3), u32(0))).toBe(7);
  });

  it("are unchanged by a bitcast and its inverse", () => {
    const vec2h = vectorType(2, f16Type);
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom<Type>(u32Type, f32Type, vec2h), (word, type) => {
        const there = foldBuiltin("bitcast", [i32(word)], type)!;
        // NaNs and infinities have no value.
        if (there.ok) expect(call("bitcast", i32Type, there.value)).toBe(word);
      }),
    );
  });

  it("are joined and split in memory order", () => {
    const halves = vector(...[1, -2, 0.5, 65504].map((x) => scalar(f16Type, x)));
    expect(call("bitcast", vectorType(2, u32Type), halves)).toEqual([0xc0003c00, 0x7bff3800]);
    expect(call("bitcast", u32Type, literal("4294967295"))).toBe(4294967295);
    expect(call("bitcast", u32Type, literal("4294967296"))).toBe("value overflows u32");
  });
});

describe("packing", () => {
  it("clamps, rounds and puts the first component lowest", () => {
    expect(call("pack4x8snorm", u32Type, f32(-2, 0, 0.5, 1))).toBe(0x7f400081);
    expect(call("pack4x8unorm", u32Type, f32(-1, 0, 0.5, 2))).toBe(0xff800000);
    expect(call("pack2x16unorm", u32Type, f32(0.5, 1))).toBe(0xffff8000);
    expect(call("pack2x16float", u32Type, f32(1, -2))).toBe(0xc0003c00);
    expect(call("pack4xI8", u32Type, vector(...[-1, 128, 0, 257].map((x) => scalar(i32Type, x))))).toBe(
      0x010080ff,
    );
    expect(call("pack4xI8Clamp", u32Type, vector(...[-999, 999, 0, 1].map((x) => scalar(i32Type, x))))).toBe(
      0x01007f80,
    );
    expect(call("pack4xU8Clamp", u32Type, vector(...[999, 0, 255, 1].map((x) => scalar(u32Type, x))))).toBe(
      0x01ff00ff,
    );
    expect(call("unpack4x8snorm", vectorType(4, f32Type), u32(0x7f00ff80))).toEqual([
      -1,
      Math.fround(-1 / 127),
      0,
      1,
    ]);
  });

  it.each([
    ["4x8unorm", 4, f32Type],
    ["2x16unorm", 2, f32Type],
    ["2x16float", 2, f32Type],
    ["4xI8", 4, i32Type],
    ["4xU8", 4, u32Type],
  ] as const)("gives back what unpack%s took apart", (format, size, type) => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (word) => {
        const parts = foldBuiltin(`unpack${format}`, [u32(word)], vectorType(size, type))!;
        if (parts.ok) expect(call(`pack${format}`, u32Type, parts.value)).toBe(word);
      }),
    );
  });

  it("multiplies lanes", () => {
    expect(call("dot4U8Packed", u32Type, u32(0xff020304), u32(0xff050607))).toBe(65025 + 10 + 18 + 28);
    expect(call("dot4I8Packed", i32Type, u32(0x80ff0001), u32(0x80010203))).toBe(16384 - 1 + 3);
  });
});

describe("vectors and matrices", () => {
  const vec3f = vectorType(3, f32Type);

  it("have lengths, products and reflections", () => {
    expect(call("length", f32Type, f32(-3))).toBe(3);
    expect(call("length", f32Type, f32(3, 4))).toBe(5);
    expect(call("distance", f32Type, f32(1, 1), f32(4, 5))).toBe(5);
    expect(call("normalize", vectorType(2, f32Type), f32(0, -2))).toEqual([0, -1]);
    expect(call("cross", vec3f, f32(1, 2, 3), f32(4, 5, 6))).toEqual([-3, 6, -3]);
    expect(call("reflect", vectorType(2, f32Type), f32(1, -1), f32(0, 1))).toEqual([1, 1]);
    expect(call("refract", vectorType(2, f32Type), f32(0, -1), f32(0, 1), f32(1))).toEqual([0, -1]);
    expect(call("refract", vectorType(2, f32Type), f32(1, 0), f32(0, 1), f32(2))).toEqual([0, 0]);
    expect(call("faceForward", vectorType(2, f32Type), f32(1, 2), f32(1, 0), f32(1, 0))).toEqual([-1, -2]);
  });

  it("have determinants and transposes", () => {
    const rows = [f32(2, 0, 1), f32(1, 3, 2), f32(1, 1, 1)];
    const matrix: Value = { type: matrixType(3, 3, f32Type), elements: rows };
    expect(call("determinant", f32Type, matrix)).toBe(0);
    const other: Value = { type: matrixType(3, 3, f32Type), elements: [rows[0]!, rows[1]!, f32(1, 1, 4)] };
    expect(call("determinant", f32Type, other)).toBe(18);
    expect(call("transpose", matrixType(3, 3, f32Type), matrix)).toEqual([
      [2, 1, 1],
      [0, 3, 1],
      [1, 2, 1],
    ]);
  });
});

describe("logic", () => {
  it("selects by a scalar or by components, and reduces by all or any", () => {
    const condition = vector(literal("true"), literal("false"));
    expect(call("select", vectorType(2, f32Type), f32(1, 2), f32(3, 4), condition)).toEqual([3, 2]);
    expect(call("select", vectorType(2, f32Type), f32(1, 2), f32(3, 4), literal("true"))).toEqual([3, 4]);
    expect(call("all", boolType, condition)).toBe(false);
    expect(call("any", boolType, condition)).toBe(true);
  });
});
