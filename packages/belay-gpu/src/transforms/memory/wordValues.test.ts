import { describe, expect, it } from "vitest";
import { granuleCode, typeOf } from "../../../../../test/support/wgsl/granuleCode.ts";
import type { ByteOffset } from "./byteOffset.ts";
import { isLong, partsOf, ValueReader } from "./wordValues.ts";

const at = (bytes: number): ByteOffset => ({ terms: [], at: bytes });
/** The address of element `i`, or of a byte in it. */
const atElement = (stride: number, bytes = 0): ByteOffset => ({
  terms: [{ index: "i", stride }],
  at: bytes,
});

/** Returns the statements and the value of a load. */
function load(type: string, address: ByteOffset, granuleBytes: number): string[] {
  const reader = new ValueReader(granuleCode(granuleBytes));
  const value = reader.value(typeOf(type), address);
  return [...reader.statements, value];
}

describe("a value", () => {
  it("is a granule, or a part of one", () => {
    expect(load("vec4u", atElement(16, 32), 16)).toEqual(["let granule_1 = load(i + 2u);", "granule_1"]);
    expect(load("u32", at(20), 16)).toEqual(["let granule_1 = load(1u);", "granule_1.y"]);
    expect(load("vec2u", at(8), 16)).toEqual(["let granule_1 = load(0u);", "granule_1.zw"]);
  });

  it("has the bits of its words", () => {
    expect(load("vec3i", atElement(16), 16)).toEqual([
      "let granule_1 = load(i);",
      "bitcast<vec3<i32>>(granule_1.xyz)",
    ]);
  });

  it("is composed of several granules", () => {
    expect(load("vec4f", atElement(16), 8)).toEqual([
      "let granule_1 = load(i * 2u);",
      "let granule_2 = load(i * 2u + 1u);",
      "bitcast<vec4<f32>>(vec4<u32>(granule_1.x, granule_1.y, granule_2.x, granule_2.y))",
    ]);
  });

  it("is constructed from its parts, which share a granule", () => {
    expect(load("Pair", atElement(16), 16)).toEqual([
      "let granule_1 = load(i);",
      "Pair(bitcast<f32>(granule_1.x), granule_1.zw)",
    ]);
    expect(load("array<vec2u, 2>", atElement(16), 16).at(-1)).toBe(
      "array<vec2<u32>, 2>(granule_1.xy, granule_1.zw)",
    );
    expect(load("mat2x2f", atElement(16), 16).at(-1)).toBe(
      "mat2x2<f32>(bitcast<vec2<f32>>(granule_1.xy), bitcast<vec2<f32>>(granule_1.zw))",
    );
  });

  it("is selected from a granule in which its place is unknown", () => {
    expect(load("vec2u", atElement(8), 16)).toEqual([
      "let byte_1 = i * 8u;",
      "let granule_2 = load(byte_1 / 16u);",
      "select(granule_2.xy, granule_2.zw, (byte_1 & 8u) != 0u)",
    ]);
    expect(load("u32", atElement(4), 16).at(-1)).toBe(
      "select(select(granule_2.x, granule_2.y, (byte_1 & 4u) != 0u), " +
        "select(granule_2.z, granule_2.w, (byte_1 & 4u) != 0u), (byte_1 & 8u) != 0u)",
    );
  });
});

describe("16-bit floats", () => {
  it("are halves of words", () => {
    expect(load("f16", atElement(4, 2), 4)).toEqual([
      "let granule_1 = load(i);",
      "bitcast<vec2<f16>>(granule_1).y",
    ]);
    expect(load("vec2h", atElement(4), 4).at(-1)).toBe("bitcast<vec2<f16>>(granule_1)");
    expect(load("vec3h", atElement(8), 8).at(-1)).toBe(
      "vec4<f16>(bitcast<vec2<f16>>(granule_1.x), bitcast<vec2<f16>>(granule_1.y)).xyz",
    );
  });

  it("are selected from a word in which their place is unknown", () => {
    expect(load("f16", atElement(2), 4)).toEqual([
      "let byte_1 = i * 2u;",
      "let granule_2 = load((byte_1 / 4u));",
      "let word_3 = granule_2;",
      "select(bitcast<vec2<f16>>(word_3).x, bitcast<vec2<f16>>(word_3).y, (byte_1 & 2u) != 0u)",
    ]);
  });
});

it("loads an array of more than 256 bytes in a loop", () => {
  const longs = ["array<vec4u, 16>", "array<vec4u, 17>"].map(typeOf);
  expect(longs.map((type) => type.kind === "array" && isLong(type))).toEqual([false, true]);
  expect(load("array<vec4u, 17>", at(32), 16)).toEqual([
    "var array_1: array<vec4<u32>, 17>;",
    "for (var i_2 = 0u; i_2 < 17u; i_2++) { let granule_3 = load(i_2 + 2u); array_1[i_2] = granule_3; }",
    "array_1",
  ]);
});

it("finds the parts of aggregates at their offsets, after padding", () => {
  const offsets = (type: string) => partsOf(typeOf(type))?.map(({ offset }) => offset);
  expect(offsets("Padded")).toEqual([0, 12, 16]);
  expect(offsets("array<vec3f, 3>")).toEqual([0, 16, 32]);
  expect(offsets("mat3x2f")).toEqual([0, 8, 16]);
  expect(offsets("vec4f")).toBeUndefined();
});
