import { describe, expect, it } from "vitest";
import { granuleCode, typeOf } from "../../../../../test/support/wgsl/granuleCode.ts";
import type { ByteOffset } from "./byteOffset.ts";
import { chunksOf, ValueWriter } from "./valueWriter.ts";

/** Returns the statements that store `v` at a byte of element `i`, whose size is the stride. */
function store(type: string, stride: number, at: number, granuleBytes: number): string[] {
  const terms: ByteOffset["terms"] = stride === 0 ? [] : [{ index: "i", stride }];
  const writer = new ValueWriter(granuleCode(granuleBytes), terms);
  writer.put(typeOf(type), at, "v");
  return writer.finish();
}

describe("a store", () => {
  it("replaces whole granules", () => {
    expect(store("f32", 16, 4, 4)).toEqual(["store(i * 4u + 1u, bitcast<u32>(v));"]);
    expect(store("vec4f", 16, 0, 8)).toEqual([
      "let words_1 = bitcast<vec4<u32>>(v);",
      "store(i * 2u, words_1.xy);",
      "store(i * 2u + 1u, words_1.zw);",
    ]);
  });

  it("keeps the words of a granule that it does not store", () => {
    expect(store("u32", 16, 4, 16)).toEqual([
      "let old_1 = load(i);",
      "store(i, vec4<u32>(old_1.x, v, old_1.z, old_1.w));",
    ]);
  });

  it("stores the parts of a struct that share a granule together, and keeps padding", () => {
    expect(store("Padded", 48, 0, 16)).toEqual([
      "let words_1 = bitcast<vec3<u32>>(v.at);",
      "let words_2 = bitcast<vec3<u32>>(v.list[0]);",
      "let words_3 = bitcast<vec3<u32>>(v.list[1]);",
      "store(i * 3u, vec4<u32>(words_1.x, words_1.y, words_1.z, v.count));",
      "let old_4 = load(i * 3u + 1u);",
      "store(i * 3u + 1u, vec4<u32>(words_2.x, words_2.y, words_2.z, old_4.w));",
      "let old_5 = load(i * 3u + 2u);",
      "store(i * 3u + 2u, vec4<u32>(words_3.x, words_3.y, words_3.z, old_5.w));",
    ]);
  });

  it("joins 16-bit floats in words, and keeps a half that it does not store", () => {
    expect(store("vec2h", 4, 0, 4)).toEqual(["store(i, bitcast<u32>(vec2<f16>(v.x, v.y)));"]);
    expect(store("vec4h", 8, 0, 8)).toEqual([
      "store(i, vec2<u32>(bitcast<u32>(vec2<f16>(v.x, v.y)), bitcast<u32>(vec2<f16>(v.z, v.w))));",
    ]);
    expect(store("f16", 4, 2, 4)).toEqual([
      "let old_1 = load(i);",
      "store(i, bitcast<u32>(vec2<f16>(bitcast<vec2<f16>>(old_1).x, v)));",
    ]);
  });

  it("stores the whole granules of a long array in a loop, and its ends alone", () => {
    expect(store("array<u32, 101>", 0, 8, 16)).toEqual([
      "for (var i_1 = 0u; i_1 < 24u; i_1++) { " +
        "store(i_1 + 1u, vec4<u32>(v[i_1 * 4u + 2u], v[i_1 * 4u + 3u], v[i_1 * 4u + 4u], v[i_1 * 4u + 5u])); }",
      "let old_2 = load(0u);",
      "store(0u, vec4<u32>(old_2.x, old_2.y, v[0], v[1]));",
      "let old_3 = load(25u);",
      "store(25u, vec4<u32>(v[98], v[99], v[100], old_3.w));",
    ]);
  });
});

it.each([
  ["array<u32, 8>", 0, 16, { first: 0, chunk: 4 }],
  ["array<u32, 8>", 8, 16, { first: 2, chunk: 4 }],
  ["array<u32, 8>", 8, 4, { first: 0, chunk: 1 }],
  // An element of 16 bytes has 12 bytes of data.
  ["array<vec3f, 8>", 16, 64, { first: 3, chunk: 4 }],
  // All elements start in the middle of a granule.
  ["array<vec4u, 8>", 8, 16, undefined],
])("finds the elements of %s at byte %d that fill granules of %d bytes", (text, at, bytes, expected) => {
  const type = typeOf(text);
  expect(type.kind === "array" && chunksOf(type, at, bytes)).toEqual(expected);
});
