import { describe, expect, it } from "vitest";
import { matrixType, vectorType } from "./conversion.ts";
import { alignOf, memberOffsets, sizeOf, sizeWith, strideOf } from "./layout.ts";
import {
  type ArrayType,
  abstractIntType,
  boolType,
  f16Type,
  f32Type,
  i32Type,
  type StructMemberType,
  type StructType,
  type Type,
  u32Type,
  voidType,
} from "./types.ts";

const vec2f = vectorType(2, f32Type);
const vec3f = vectorType(3, f32Type);
const vec4f = vectorType(4, f32Type);
const vec2h = vectorType(2, f16Type);
const vec3h = vectorType(3, f16Type);

function array(element: Type, count: ArrayType["count"]): ArrayType {
  return { kind: "array", element, count };
}

function struct(...members: (readonly [Type, { align?: number; size?: number }?])[]): StructType {
  return {
    kind: "struct",
    name: "S",
    members: members.map(
      ([type, attributes], i): StructMemberType => ({ name: `m${i}`, type, ...attributes }),
    ),
  };
}

describe("alignment and size", () => {
  it.each<[string, Type, number, number]>([
    ["bool", boolType, 4, 4],
    ["i32", i32Type, 4, 4],
    ["f16", f16Type, 2, 2],
    ["atomic<u32>", { kind: "atomic", element: u32Type }, 4, 4],
    ["vec2<f32>", vec2f, 8, 8],
    ["vec2<f16>", vec2h, 4, 4],
    ["vec3<bool>", vectorType(3, boolType), 16, 12],
    ["vec3<f32>", vec3f, 16, 12],
    ["vec3<f16>", vec3h, 8, 6],
    ["vec4<f32>", vec4f, 16, 16],
    ["vec4<f16>", vectorType(4, f16Type), 8, 8],
    ["mat2x2<f32>", matrixType(2, 2, f32Type), 8, 16],
    ["mat2x2<f16>", matrixType(2, 2, f16Type), 4, 8],
    ["mat3x2<f32>", matrixType(3, 2, f32Type), 8, 24],
    ["mat3x2<f16>", matrixType(3, 2, f16Type), 4, 12],
    ["mat4x2<f32>", matrixType(4, 2, f32Type), 8, 32],
    ["mat4x2<f16>", matrixType(4, 2, f16Type), 4, 16],
    ["mat2x3<f32>", matrixType(2, 3, f32Type), 16, 32],
    ["mat2x3<f16>", matrixType(2, 3, f16Type), 8, 16],
    ["mat3x3<f32>", matrixType(3, 3, f32Type), 16, 48],
    ["mat3x3<f16>", matrixType(3, 3, f16Type), 8, 24],
    ["mat4x3<f32>", matrixType(4, 3, f32Type), 16, 64],
    ["mat4x3<f16>", matrixType(4, 3, f16Type), 8, 32],
    ["mat2x4<f32>", matrixType(2, 4, f32Type), 16, 32],
    ["mat2x4<f16>", matrixType(2, 4, f16Type), 8, 16],
    ["mat3x4<f32>", matrixType(3, 4, f32Type), 16, 48],
    ["mat3x4<f16>", matrixType(3, 4, f16Type), 8, 24],
    ["mat4x4<f32>", matrixType(4, 4, f32Type), 16, 64],
    ["mat4x4<f16>", matrixType(4, 4, f16Type), 8, 32],
    ["array<f32, 8>", array(f32Type, 8), 4, 32],
    ["array<vec3<f32>, 8>", array(vec3f, 8), 16, 128],
    ["array<vec3<f32>>", array(vec3f, "runtime"), 16, 0],
  ])("of %s is the specification's", (_, type, align, size) => {
    expect([alignOf(type), sizeOf(type)]).toEqual([align, size]);
  });

  it("does not exist for types that are not in memory", () => {
    expect(() => sizeOf(voidType)).toThrow(TypeError);
    expect(() => alignOf(abstractIntType)).toThrow(TypeError);
  });
});

describe("element stride", () => {
  it.each<[Type, number]>([
    [f32Type, 4],
    [vec3f, 16],
    [vec3h, 8],
    [array(vec3f, 2), 32],
    [struct([vec2f], [f32Type]), 16],
  ])("rounds the element's size up to its alignment (%#)", (element, stride) => {
    expect(strideOf(array(element, "runtime"))).toBe(stride);
  });
});

describe("a struct", () => {
  it("has the layout of the specification's example with implicit sizes and alignments", () => {
    const a = struct([f32Type], [f32Type], [vec2f], [f32Type]);
    expect([alignOf(a), sizeOf(a), memberOffsets(a)]).toEqual([8, 24, [0, 4, 8, 16]]);
    const b = struct([vec2f], [vec3f], [f32Type], [f32Type], [a], [vec3f], [array(a, 3)], [i32Type]);
    expect([alignOf(b), sizeOf(b), memberOffsets(b)]).toEqual([16, 160, [0, 16, 28, 32, 40, 64, 80, 152]]);
  });

  it("has the layout of the specification's example with explicit sizes and alignments", () => {
    const a = struct([f32Type], [f32Type], [vec2f], [f32Type, { size: 16 }]);
    expect([alignOf(a), sizeOf(a), memberOffsets(a)]).toEqual([8, 32, [0, 4, 8, 16]]);
    const b = struct(
      [vec2f],
      [vec3f],
      [f32Type],
      [f32Type],
      [a, { align: 16 }],
      [vec3f],
      [array(a, 3)],
      [i32Type],
    );
    expect([alignOf(b), sizeOf(b), memberOffsets(b)]).toEqual([16, 208, [0, 16, 28, 32, 48, 80, 96, 192]]);
  });

  it("ends where its runtime-sized array begins", () => {
    const list = struct([u32Type], [array(vec4f, "runtime")]);
    expect([sizeOf(list), memberOffsets(list)]).toEqual([16, [0, 16]]);
  });

  it("has room for the elements of its runtime-sized array, and padding", () => {
    const list = struct([vec3f], [array(f32Type, "runtime")]);
    expect([0, 1, 2].map((elements) => sizeWith(list, elements))).toEqual([16, 16, 32]);
    expect(sizeWith(array(vec3f, "runtime"), 3)).toBe(48);
    expect(sizeWith(array(vec3f, 2), 3)).toBe(32);
  });

  it("that nests deeply is laid out in linear time", () => {
    let type = struct([f32Type]);
    for (let depth = 0; depth < 40; depth++) type = struct([type], [type]);
    expect(sizeOf(type)).toBe(4 * 2 ** 40);
  });
});
