import { describe, expect, test } from "vitest";
import { tokenize } from "./lexer.ts";
import { resolveTemplateLists } from "./templateLists.ts";

/** Returns the source with template lists shown as `‹…›`, and one space between tokens. */
const resolve = (source: string) =>
  resolveTemplateLists(tokenize(source).tokens)
    .map(({ kind, start, end }) =>
      kind === "templateStart" ? "‹" : kind === "templateEnd" ? "›" : source.slice(start, end),
    )
    .join(" ")
    .trim();

describe("the specification's examples", () => {
  test.each([
    ["vec3<f32>", "vec3 ‹ f32 ›"],
    ["var<storage,read_write> x", "var ‹ storage , read_write › x"],
    ["array<vec4<f32>>", "array ‹ vec4 ‹ f32 › ›"],
    ["A ( B < C, D > ( E ) )", "A ( B ‹ C , D › ( E ) )"],
    ["array<i32,select(2,3,a>b)>", "array ‹ i32 , select ( 2 , 3 , a > b ) ›"],
    ["a[b<d]>()", "a [ b < d ] > ( )"],
    ["A<B<<C>", "A ‹ B << C ›"],
    ["A<B<=C>", "A ‹ B <= C ›"],
    ["A<(B>=C)>", "A ‹ ( B >= C ) ›"],
    ["A<(B!=C)>", "A ‹ ( B != C ) ›"],
    ["A<(B==C)>", "A ‹ ( B == C ) ›"],
    ["a<b || c>d", "a < b || c > d"],
  ])("%s", (source, resolved) => {
    expect(resolve(source)).toBe(resolved);
  });
});

describe("comparisons stay comparisons", () => {
  test.each([
    [
      "select(1.0, select(2.0, 3.0, h < n), b > 0.0)",
      "select ( 1.0 , select ( 2.0 , 3.0 , h < n ) , b > 0.0 )",
    ],
    ["a < b; c > d", "a < b ; c > d"],
    ["a < b && c > d", "a < b && c > d"],
    ["i = a < b; j = c > d", "i = a < b ; j = c > d"],
    ["if a < b { c > d", "if a < b { c > d"],
    ["1 < b, c > d", "1 < b , c > d"],
    ["true < b, c > d", "true < b , c > d"],
    ["f() < b, c > d", "f ( ) < b , c > d"],
  ])("%s", (source, resolved) => {
    expect(resolve(source)).toBe(resolved);
  });
});

describe("operators with `<` and `>` are joined only without a gap and outside template lists", () => {
  test.each([
    ["a >> b", "a >> b"],
    ["a > > b", "a > > b"],
    ["a >>= b", "a >>= b"],
    ["a <<= b", "a <<= b"],
    ["a[0] <<= b", "a [ 0 ] <<= b"],
    ["1 << 2 >> 3", "1 << 2 >> 3"],
    ["let x: vec2<i32>= v", "let x : vec2 ‹ i32 › = v"],
    ["let x: array<vec2<i32>>= v", "let x : array ‹ vec2 ‹ i32 › › = v"],
    ["array<vec2<f32>, (1>2)>()", "array ‹ vec2 ‹ f32 › , ( 1 > 2 ) › ( )"],
    ["array<i32, (1 <= n)>()", "array ‹ i32 , ( 1 <= n ) › ( )"],
  ])("%s", (source, resolved) => {
    expect(resolve(source)).toBe(resolved);
  });
});
