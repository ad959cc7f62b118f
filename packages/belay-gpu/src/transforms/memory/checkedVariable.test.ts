import { describe, expect, it } from "vitest";
import { schemeOf } from "../../ecc/scheme.ts";
import { asIs, unitOf, wordsType } from "./checkedVariable.ts";

const checked = (scheme: "secded32" | "secded64" | "secded128") => ({
  name: "x",
  index: 0,
  scheme: schemeOf(scheme),
});

describe("a granule", () => {
  it("has one, two or four words", () => {
    const units = (["secded32", "secded64", "secded128"] as const).map((each) => unitOf(checked(each)));
    expect(units.map(wordsType)).toEqual(["u32", "vec2<u32>", "vec4<u32>"]);
  });

  it("of storage is an element", () => {
    const words = { name: "w", isUniform: false };
    expect(asIs(checked("secded32"), words, "i")).toBe("w[i]");
    expect(asIs(checked("secded128"), words, "i")).toBe("w[i]");
  });

  it("of a uniform buffer is a part of an element of 16 bytes", () => {
    const words = { name: "w", isUniform: true };
    expect(asIs(checked("secded32"), words, "i")).toBe("w[i / 4u][i % 4u]");
    expect(asIs(checked("secded64"), words, "i")).toBe("select(w[i / 2u].zw, w[i / 2u].xy, i % 2u == 0u)");
    expect(asIs(checked("secded128"), words, "i")).toBe("w[i]");
  });
});

it("is accessed in pieces if its granules are lines", () => {
  expect(unitOf({ ...checked("secded128"), pieceBytes: 4 })).toBe(4);
});
