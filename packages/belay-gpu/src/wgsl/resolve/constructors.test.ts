import { describe, expect, test } from "vitest";
import { findings, typeOf } from "../../../../../test/support/wgsl/resolved.ts";

const declarations = `
struct S { a: f32, b: vec2<i32> }
struct Locked { a: atomic<u32> }
alias Row = array<f32, 3>;
override n = 4u;
var<private> i: i32; var<private> f: f32; var<private> v: vec2<f32>; var<private> w: vec3<u32>; var<private> h: f16;`;

describe("value constructors", () => {
  test.each([
    ["f32(i)", "f32"],
    ["u32(4294967295)", "u32"],
    ["bool(2.5)", "bool"],
    ["vec3(1, 2, 3)", "vec3<abstract-int>"],
    ["vec3(1, 2.5, 3)", "vec3<abstract-float>"],
    ["vec3(1, f, 3)", "vec3<f32>"],
    ["vec3(v, 1)", "vec3<f32>"],
    ["vec4(1, vec2(2, 3), 4)", "vec4<abstract-int>"],
    ["vec2(vec2i())", "vec2<i32>"],
    ["vec2()", "vec2<abstract-int>"],
    ["vec3(i)", "vec3<i32>"],
    ["vec3(w)", "vec3<u32>"],
    ["vec3<f32>(w)", "vec3<f32>"],
    ["vec3<f32>(1)", "vec3<f32>"],
    ["vec2h(1, h)", "vec2<f16>"],
    ["vec4<u32>()", "vec4<u32>"],
    ["mat2x2(1, 2, 3, 4)", "mat2x2<abstract-float>"],
    ["mat2x2(v, v)", "mat2x2<f32>"],
    ["mat2x2(v, vec2(1, 2))", "mat2x2<f32>"],
    ["mat2x2<f16>(mat2x2(v, v))", "mat2x2<f16>"],
    ["mat2x2(mat2x2(v, v))", "mat2x2<f32>"],
    ["array(1, 2)", "array<abstract-int, 2>"],
    ["array(1.0, 2)", "array<abstract-float, 2>"],
    ["array(f, 2)", "array<f32, 2>"],
    ["array(vec2(1, 2), vec2(1.5))", "array<vec2<abstract-float>, 2>"],
    ["array(S(), S(1, vec2(2)))", "array<S, 2>"],
    ["array<u32, 2>(1, 2)", "array<u32, 2>"],
    ["Row(1, 2, 3)", "array<f32, 3>"],
    ["Row()", "array<f32, 3>"],
    ["S(1, vec2(1, 2))", "S"],
  ])("%s is %s", (expression, expected) => {
    expect(typeOf(expression, declarations)).toBe(expected);
  });

  test.each([
    ["f32(v)", "cannot construct `f32` from `(vec2<f32>)`"],
    ["f32(1, 2)", "cannot construct `f32` from `(abstract-int, abstract-int)`"],
    ["vec3<i32>(f)", "cannot construct `vec3<i32>` from `(f32)`"],
    ["vec3(1, 2)", "cannot construct `vec3<abstract-int>` from `(abstract-int, abstract-int)`"],
    ["vec3(v, v)", "cannot construct `vec3<f32>` from `(vec2<f32>, vec2<f32>)`"],
    ["vec2(i, f)", "no overload of `vec2` takes `(i32, f32)`"],
    [
      "mat2x3(w.x, 2, 3, 4, 5, 6)",
      "no overload of `mat2x3` takes `(u32, abstract-int, abstract-int, abstract-int, abstract-int, abstract-int)`",
    ],
    [
      "mat2x2(1, 2, 3)",
      "cannot construct `mat2x2<abstract-float>` from `(abstract-int, abstract-int, abstract-int)`",
    ],
    ["array(1, true)", "no overload of `array` takes `(abstract-int, bool)`"],
    ["array()", "no overload of `array` takes `()`"],
    ["array<u32, 2>(1)", "`array` takes 2 arguments, found 1"],
    ["S(1)", "`S` takes 2 arguments, found 1"],
    ["Locked()", "`Locked` cannot be constructed"],
    ["array<f32, n>()", "`array<f32, n>` cannot be constructed"],
    ["array<f32>()", "`array<f32>` cannot be constructed"],
    ["ptr<function, f32>()", "`ptr<function, f32, read_write>` cannot be constructed"],
  ])("%s is refused", (expression, message) => {
    expect(findings(`${declarations} fn test() { _ = ${expression}; }`)).toEqual([
      expect.stringContaining(message),
    ]);
  });
});
