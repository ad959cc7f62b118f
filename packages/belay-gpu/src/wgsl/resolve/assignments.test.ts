import { expect, test } from "vitest";
import { findings, resolved } from "../../../../../test/support/wgsl/resolved.ts";

const declarations = `
struct S { v: vec4<f32> }
@group(0) @binding(0) var<storage, read_write> out: array<S>;
@group(0) @binding(1) var<storage, read> in: array<f32>;
@group(0) @binding(2) var picture: texture_2d<f32>;
const c = 1;
var<private> i: i32; var<private> f: f32; var<private> v: vec3<f32>; var<private> m: mat3x3<f32>;`;

test.each([
  "f = 1;",
  "out[i].v.x = 1;",
  "v *= 2;",
  "v *= m;",
  "i <<= 3;",
  "v.xz = vec2(1, 2);",
  "out[0].v.yz *= vec2(3);",
  "v.zyx[i] = 4;",
  "let p = &out[1].v; p.y = 2; (*p)[0] += 1; *p = vec4(1);",
  "i++; out[0].v.x -= f;",
  "_ = picture; _ = &out; _ = 4294967295 * 16;",
  "var a: array<vec2<i32>, 2>; a[i] = vec2(1, 2);",
])("accepts %s", (statement) => {
  resolved(`${declarations} fn test() { ${statement} }`);
});

test.each([
  ["c = 2;", "BELAY109 c: this expression cannot be assigned to"],
  ["let x = 1; x = 2;", "BELAY109 x: this expression cannot be assigned to"],
  ["in[0] = 1;", "BELAY109 in[0]: this expression cannot be assigned to"],
  ["let p = &f; p = p;", "BELAY109 p: this expression cannot be assigned to"],
  ["v.xx = vec2(1, 2);", "BELAY109 v.xx: this expression cannot be assigned to"],
  ["i = 1.5;", "BELAY105 1.5: cannot convert `abstract-float` to `i32`"],
  ["f = i;", "BELAY105 i: cannot convert `i32` to `f32`"],
  ["f += v;", "BELAY105 v: cannot convert `vec3<f32>` to `f32`"],
  ["i += 1u;", "BELAY106 i: no overload of `+` takes `(i32, u32)`"],
  ["f++;", "BELAY105 f: expected a place of type `i32` or `u32`, found `f32`"],
  ["_ = out;", "BELAY108 out: `array<S>` cannot be assigned"],
])("refuses %s", (statement, finding) => {
  const found = findings(`${declarations} fn test() { ${statement} }`);
  expect(found).toEqual([finding]);
});
