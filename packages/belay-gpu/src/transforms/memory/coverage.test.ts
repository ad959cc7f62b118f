import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { placeOf } from "../../analysis/places.ts";
import type { Assignment } from "../../wgsl/ast.ts";
import { fillsGranules, isAccessible, typedSteps } from "./coverage.ts";

const many = Array.from({ length: 1030 }, (_, i) => `m${i}: u32`).join(", ");

/** Returns the program and the place of the target of a store. */
function stored(target: string, value: string) {
  const program = typed(`
    struct Full { v: vec3f, n: u32 }
    struct Padded { v: vec3f }
    struct Many { ${many} }
    @group(0) @binding(0) var<storage, read_write> pairs: array<vec2f>;
    @group(0) @binding(1) var<storage, read_write> full: array<Full>;
    @group(0) @binding(2) var<storage, read_write> padded: array<Padded>;
    @group(0) @binding(3) var<storage, read_write> words: array<u32>;
    @group(0) @binding(4) var<storage, read_write> few: array<u32, 8>;
    @group(0) @binding(5) var<storage, read_write> matrix: mat3x3f;
    @group(0) @binding(6) var<storage, read_write> large: array<u32, 5000>;
    @group(0) @binding(7) var<storage, read_write> many: Many;
    fn f(i: u32) { ${target} = ${value}; }`);
  const fn = program.module.declarations.at(-1)!;
  if (fn.kind !== "function") throw new Error("the last declaration is f");
  return { program, place: placeOf(program, (fn.body.statements[0] as Assignment).target!)! };
}

describe("a store fills the granules that it touches", () => {
  it.each([
    ["pairs[i]", "vec2f()", [true, true, false]],
    ["pairs[i].x", "0.0", [true, false, false]],
    ["full[i].v", "vec3f()", [true, false, false]],
    ["full[i]", "Full()", [true, true, true]],
    ["words[0]", "0", [true, false, false]],
    ["few[4]", "0", [true, false, false]],
    ["few", "array<u32, 8>()", [true, true, true]],
  ])("%s = %s, of 4, 8 and 16 bytes: %j", (target, value, expected) => {
    const { program, place } = stored(target, value);
    expect([4, 8, 16].map((bytes) => fillsGranules(program, place, bytes))).toEqual(expected);
  });

  it.each([
    ["padded[i].v", "vec3f()"],
    ["padded[i]", "Padded()"],
    ["matrix[1]", "vec3f()"],
    ["matrix", "mat3x3f()"],
  ])("also if only padding is left of them: %s", (target, value) => {
    const { program, place } = stored(target, value);
    expect(fillsGranules(program, place, 16)).toBe(true);
  });
});

describe("a step of a place", () => {
  it("has a known index only if it is in bounds on each device", () => {
    const known = (target: string) => {
      const { program, place } = stored(target, "0");
      return typedSteps(program, place).map((step) => step.known);
    };
    expect(known("few[4]")).toEqual([4]);
    expect(known("few[i]")).toEqual([undefined]);
    // An array of unknown length may be empty.
    expect(known("words[4]")).toEqual([undefined]);
    expect(known("full[i].n")).toEqual([undefined, undefined]);
  });
});

it("counts the parts that generated code has to name", () => {
  expect(isAccessible(stored("full[i]", "Full()").place)).toBe(true);
  expect(isAccessible(stored("large", "array<u32, 5000>()").place)).toBe(true);
  expect(isAccessible(stored("many", "Many()").place)).toBe(false);
  expect(isAccessible(stored("many.m7", "0").place)).toBe(true);
});
