import { describe, expect, test } from "vitest";
import { findings, resolved } from "../../../../../test/support/wgsl/resolved.ts";

const declarations = `
struct S { v: vec4<f32> }
@group(0) @binding(0) var<storage, read_write> out: array<S>;
const c = 1;
override o = 2;
var<private> i: i32; var<private> f: f32;`;

describe("statements", () => {
  test.each([
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
    ["break;", "BELAY118 break: `break` is allowed only in a loop or a switch"],
    [
      "switch i { default { continue; } }",
      "BELAY118 continue: `continue` is allowed only in the body of a loop",
    ],
    ["return 1;", "BELAY115 1: this function has no result type, so it cannot return a value"],
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
    [
      "fn f() -> f32 { return; }",
      ["BELAY115 return: this function has a result type, so `return` needs a value"],
    ],
    ["fn f() -> f32 { return 1i; }", ["BELAY105 1i: cannot convert `i32` to `f32`"]],
    ["fn f() -> array<f32> { }", ["BELAY108 array<f32>: `array<f32>` cannot be returned"]],
    ["fn f() -> u32 { if (true) { return 1; } }", ["BELAY115 f: `f` may end without returning a value"]],
    [
      "fn f() -> u32 { loop { if (true) { break; } return 1; } }",
      ["BELAY115 f: `f` may end without returning a value"],
    ],
    ["fn f() -> u32 { while (true) { return 1; } }", ["BELAY115 f: `f` may end without returning a value"]],
    [
      "fn f() -> u32 { switch 1 { case 1: { return 1; } default: { break; } } }",
      ["BELAY115 f: `f` may end without returning a value"],
    ],
    ["fn f(x: u32) { switch x { case 1: {} } }", ["BELAY118 x: this switch has no `default` clause"]],
    [
      "fn f(x: u32) { switch x { case 1, 2: {} case 1u: {} default: {} } }",
      ["BELAY118 1u: the case `1` appears twice in this switch"],
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
