import { describe, expect, test } from "vitest";
import { findings, resolved } from "../../../test/resolved.ts";

const declarations = `
struct S { v: vec4<f32> }
@group(0) @binding(0) var<storage, read_write> out: array<S>;
@group(0) @binding(1) var<storage, read> in: array<f32>;
@group(0) @binding(2) var picture: texture_2d<f32>;
const c = 1;
override o = 2;
var<private> i: i32; var<private> f: f32; var<private> v: vec3<f32>; var<private> m: mat3x3<f32>;`;

describe("statements", () => {
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
    "switch i { case 1, c + 1: {} case default {} }",
    "switch 1u { case 2: { break; } default: {} }",
    "for (var k = 0; k < 4; k++) { if k == 2 { continue; } else if k > 3 { break; } }",
    "loop { if f > 1 { break; } continuing { f += 1; break if f > 3; } }",
    "while true { return; }",
    "const size = 2; var a: array<f32, size>; const_assert size == 2;",
  ])("accepts %s", (statement) => {
    resolved(`${declarations} fn test() { ${statement} }`);
  });

  test.each([
    ["c = 2;", "BELAY109 c: this is not a place that can be assigned"],
    ["let x = 1; x = 2;", "BELAY109 x: this is not a place that can be assigned"],
    ["in[0] = 1;", "BELAY109 in[0]: this is not a place that can be assigned"],
    ["let p = &f; p = p;", "BELAY109 p: this is not a place that can be assigned"],
    ["v.xx = vec2(1, 2);", "BELAY109 v.xx: this is not a place that can be assigned"],
    ["i = 1.5;", "BELAY105 1.5: cannot convert `abstract-float` to `i32`"],
    ["f = i;", "BELAY105 i: cannot convert `i32` to `f32`"],
    ["f += v;", "BELAY105 v: cannot convert `vec3<f32>` to `f32`"],
    ["i += 1u;", "BELAY106 i: no overload of `+` takes `(i32, u32)`"],
    ["f++;", "BELAY105 f: expected a place of type `i32` or `u32`, found `f32`"],
    ["_ = out;", "BELAY108 out: `array<S>` cannot be assigned"],
    ["let x = out;", "BELAY108 out: `array<S>` cannot be the type of a `let`"],
    [
      "var x = &f;",
      "BELAY108 x: `ptr<private, f32, read_write>` cannot be the type of a variable in a function",
    ],
    ["var x;", "BELAY116 x: `x` needs a type or an initializer"],
    ["const x = i;", "BELAY113 i: the initializer of a `const` must be a const-expression"],
    ["const x = o;", "BELAY113 o: the initializer of a `const` must be a const-expression"],
    [
      "var a: array<f32, i>;",
      "BELAY113 i: an array's element count must be a const-expression or an override-expression",
    ],
    ["if i {}", "BELAY105 i: expected a `bool`, found `i32`"],
    [
      "switch f { default {} }",
      "BELAY105 f: expected one integer type for the selector and its cases, found `f32`",
    ],
    ["switch i { case i {} default {} }", "BELAY113 i: a case selector must be a const-expression"],
    [
      "switch i { case 1u {} default {} }",
      "BELAY105 i: expected one integer type for the selector and its cases, found `i32`",
    ],
    ["break;", "BELAY118 break: `break` stands only in a loop or a switch"],
    ["switch i { default { continue; } }", "BELAY118 continue: `continue` stands only in the body of a loop"],
    ["return 1;", "BELAY115 1: this function returns no value"],
    ["const_assert c == 2;", "BELAY117 c == 2: this assertion is false"],
    ["const_assert i == 2;", "BELAY113 i == 2: the condition of a const_assert must be a const-expression"],
  ])("refuses %s", (statement, finding) => {
    const found = findings(`${declarations} fn test() { ${statement} }`).map((each) =>
      each.replace(/;: /, ": "),
    );
    expect(found).toEqual([finding]);
  });

  test.each([
    ["fn f() -> f32 { return 1; }", []],
    ["fn f() -> f32 { return; }", ["BELAY115 return: this function returns a value"]],
    ["fn f() -> f32 { return 1i; }", ["BELAY105 1i: cannot convert `i32` to `f32`"]],
    ["fn f() -> array<f32> { }", ["BELAY108 array<f32>: `array<f32>` cannot be returned"]],
    ["fn f() -> u32 { if (true) { return 1; } }", ["BELAY115 f: `f` may end without a value"]],
    [
      "fn f() -> u32 { loop { if (true) { break; } return 1; } }",
      ["BELAY115 f: `f` may end without a value"],
    ],
    ["fn f() -> u32 { while (true) { return 1; } }", ["BELAY115 f: `f` may end without a value"]],
    [
      "fn f() -> u32 { switch 1 { case 1: { return 1; } default: { break; } } }",
      ["BELAY115 f: `f` may end without a value"],
    ],
    ["fn f(x: u32) { switch x { case 1: {} } }", ["BELAY118 x: this switch has no clauses for `default`"]],
    [
      "fn f(x: u32) { switch x { case 1, 2: {} case 1u: {} default: {} } }",
      ["BELAY118 1u: the case `1` stands twice in this switch"],
    ],
    ["fn f() { loop { continue; } }", ["BELAY118 loop { continue; }: nothing ends this loop"]],
    ["fn f() { if (true) { for (;;) {} } }", ["BELAY118 for (;;) {}: nothing ends this loop"]],
    ["fn f(x: atomic<u32>) { }", ["BELAY108 atomic<u32>: `atomic<u32>` cannot be the type of a parameter"]],
  ])("in %s, finds %j", (source, found) => {
    expect(findings(source).map((each) => each.replace(/;: /, ": "))).toEqual(found);
  });
});

test.each([
  "loop { if (x > 1) { return 1; } }",
  "loop { switch x { case 1: { return 1; } default: { break; } } }",
  "if (x > 1) { return 1; } else { { return 2; } }",
  "switch x { case 1: { return 1; } default: { loop { if (x > 2) { return x; } continuing { x++; } } } }",
  "for (;;) { if (x > 1) { continue; } return x; }",
])("a function whose body is %s ends with a value", (body) => {
  resolved(`var<private> x: u32; fn f() -> u32 { ${body} }`);
});

describe("module-scope declarations", () => {
  test.each([
    "override x: f32; override y = x * 2; @id(3) override z: bool = true;",
    "var<private> x = vec2(1, 2); var<workgroup> y: array<atomic<u32>, 4>; var<immediate> z: u32;",
    "@group(0) @binding(0) var<storage> x: array<f32>; @group(0) @binding(1) var y: sampler_comparison;",
    "struct S { a: f32, b: array<u32> } @group(0) @binding(0) var<storage> x: S;",
    "override n = 4; var<workgroup> x: array<f32, n * 2>; @compute @workgroup_size(n, 2 + 2) fn f() {}",
    "const_assert a > 1; const a = b + 1; const b = 1;",
  ])("accepts %s", (source) => {
    resolved(source);
  });

  test.each([
    ["var x: f32;", "BELAY116 x: variable `x` needs an address space"],
    ["var<function> x: f32;", "BELAY116 x: address space `function` is for variables in functions"],
    ["var<storage, reed> x: f32;", "BELAY100 reed: `reed` is not declared"],
    ["override x;", "BELAY116 x: `x` needs a type or an initializer"],
    ["override x = vec2(1);", "BELAY108 x: `vec2<i32>` cannot be the type of an `override`"],
    [
      "fn f() -> u32 { return 1; } override x = f();",
      "BELAY113 f(): the initializer of an `override` must be a const-expression or an override-expression",
    ],
    [
      "struct S { a: array<u32>, b: f32 }",
      "BELAY108 array<u32>: `array<u32>` cannot be the type of a member",
    ],
    ["struct S { a: sampler }", "BELAY108 sampler: `sampler` cannot be the type of a member"],
    [
      "var<private> x: u32 = -1;",
      "BELAY112 -1: this constant expression cannot be evaluated: value overflows u32",
    ],
    [
      "override n = 2; @group(n) @binding(0) var t: sampler;",
      "BELAY113 n: the argument of `@group` must be a const-expression",
    ],
    [
      "@group(0) @binding(0) var<private> x: array<f32>;",
      "BELAY118 @group(0): attribute `@group` stands only in the declaration of a resource",
      "BELAY118 @binding(0): attribute `@binding` stands only in the declaration of a resource",
      "BELAY108 array<f32>: `array<f32>` cannot be the type of a variable in address space `private`",
    ],
    [
      "@group(0) @binding(0) var<storage> x: array<bool>;",
      "BELAY108 array<bool>: `array<bool>` cannot be the type of a variable in address space `storage`",
    ],
    [
      "override n = 2; var<private> x: array<u32, n>;",
      "BELAY108 array<u32, n>: `array<u32, n>` cannot be the type of a variable in address space `private`",
    ],
    [
      "var<workgroup, read_write> x: u32;",
      "BELAY116 read_write: variables in address space `workgroup` take no access mode",
    ],
    ["var<workgroup> x = 1u;", "BELAY116 1u: variables in address space `workgroup` take no initializer"],
    [
      "fn f(@builtin(workgroup_id) x: vec2u) {}",
      "BELAY105 workgroup_id: expected `vec3<u32>`, found `vec2<u32>`",
    ],
    [
      "@compute @workgroup_size(4, 0) fn f() {}",
      "BELAY114 0: attribute `@workgroup_size` takes an argument of at least 1",
    ],
    ["struct S { @align(12) a: u32 }", "BELAY114 12: attribute `@align` takes a power of two"],
    [
      "@compute @workgroup_size(1.5) fn f() {}",
      "BELAY105 1.5: expected an argument of type `i32` or `u32`, found `f32`",
    ],
    [
      "fn f(@builtin(local_invocation_idx) x: u32) {}",
      "BELAY114 local_invocation_idx: `local_invocation_idx` is not a built-in value",
    ],
  ])("refuses %s", (source, ...found) => {
    expect(findings(source)).toEqual(found);
  });
});
