import { describe, expect, test } from "vitest";
import { findings, resolved } from "../../../../../test/support/wgsl/resolved.ts";

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
      "BELAY118 @group(0): attribute `@group` is allowed only in the declaration of a resource",
      "BELAY118 @binding(0): attribute `@binding` is allowed only in the declaration of a resource",
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
