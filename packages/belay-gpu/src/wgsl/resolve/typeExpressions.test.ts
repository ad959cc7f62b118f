import { describe, expect, test } from "vitest";
import { findings, resolved } from "../../../../../test/support/wgsl/resolved.ts";
import { printType } from "../printer.ts";
import { describeType, typeExpressionOf } from "../typeNames.ts";

const declarations = `
override n = 4u;
const two = 2;
struct S { a: f32 }
alias A = S;`;

/** Returns the type that an alias of `text` denotes. */
function denoted(text: string) {
  const { module, typeDenotedBy } = resolved(`${declarations} alias T = ${text};`);
  const alias = module.declarations.at(-1)!;
  if (alias.kind !== "alias") throw new Error("expected an alias");
  return typeDenotedBy(alias.type);
}

const spellings: [written: string, described: string, respelt: string][] = [
  ["i32", "i32", "i32"],
  ["vec3f", "vec3<f32>", "vec3<f32>"],
  ["mat4x2<f16>", "mat4x2<f16>", "mat4x2<f16>"],
  ["array<A, two * 2>", "array<S, 4>", "array<S, 4>"],
  ["array<u32>", "array<u32>", "array<u32>"],
  ["array<u32, n>", "array<u32, n>", "array<u32, n>"],
  ["array<u32, n + 1>", "array<u32, n + 1>", "array<u32, (n + 1)>"],
  ["array<array<bool, 2>, 3>", "array<array<bool, 2>, 3>", "array<array<bool, 2>, 3>"],
  ["atomic<i32>", "atomic<i32>", "atomic<i32>"],
  ["ptr<function, vec2<bool>>", "ptr<function, vec2<bool>, read_write>", "ptr<function, vec2<bool>>"],
  ["ptr<storage, array<u32>>", "ptr<storage, array<u32>, read>", "ptr<storage, array<u32>, read>"],
  ["ptr<storage, S, read_write>", "ptr<storage, S, read_write>", "ptr<storage, S, read_write>"],
  ["ptr<uniform, S>", "ptr<uniform, S, read>", "ptr<uniform, S>"],
  ["texture_2d_array<u32>", "texture_2d_array<u32>", "texture_2d_array<u32>"],
  ["texture_multisampled_2d<f32>", "texture_multisampled_2d<f32>", "texture_multisampled_2d<f32>"],
  [
    "texture_storage_3d<rgba8unorm, write>",
    "texture_storage_3d<rgba8unorm, write>",
    "texture_storage_3d<rgba8unorm, write>",
  ],
  ["texture_depth_cube_array", "texture_depth_cube_array", "texture_depth_cube_array"],
  ["texture_external", "texture_external", "texture_external"],
  ["sampler", "sampler", "sampler"],
  ["sampler_comparison", "sampler_comparison", "sampler_comparison"],
];

describe("type expressions", () => {
  test.each(spellings)("%s denotes %s", (written, described) => {
    expect(describeType(denoted(written))).toBe(described);
  });

  test.each(spellings)("the type of %s can be written again", (written, described, respelt) => {
    const text = printType(typeExpressionOf(denoted(written)));
    expect(text.replace("array<u32, n + 1>", "array<u32, (n + 1)>")).toBe(respelt);
    expect(describeType(denoted(text))).toBe(described);
  });

  test.each([
    ["vec3", "BELAY104 vec3: `vec3` takes 1 template argument, found 0"],
    ["vec3<S>", "BELAY108 S: `S` cannot be a vector component"],
    ["vec3<f32, f32>", "BELAY104 vec3<f32, f32>: `vec3` takes 1 template argument, found 2"],
    ["mat2x2<i32>", "BELAY108 i32: `i32` cannot be a matrix component"],
    ["atomic<f32>", "BELAY108 f32: `f32` cannot be atomic"],
    ["f32<i32>", "BELAY104 f32<i32>: `f32` takes no template list"],
    ["S<i32>", "BELAY104 S<i32>: `S` takes no template list"],
    ["array<f32, 0>", "BELAY104 0: expected a positive element count in this template list"],
    ["array<f32, 1.5>", "BELAY105 1.5: expected an element count of type `i32` or `u32`, found `f32`"],
    ["array<array<f32>, 2>", "BELAY108 array<f32>: `array<f32>` cannot be an array element"],
    ["array<sampler, 2>", "BELAY108 sampler: `sampler` cannot be an array element"],
    ["array<array<u32, n>, 2>", "BELAY108 array<u32, n>: `array<u32, n>` cannot be an array element"],
    ["ptr<storge, f32>", "BELAY100 storge: `storge` is not declared"],
    ["ptr<read, f32>", "BELAY104 read: expected an address space in this template list"],
    [
      "ptr<function, ptr<function, f32>>",
      "BELAY108 ptr<function, f32>: `ptr<function, f32, read_write>` cannot be pointed to",
    ],
    ["texture_2d<bool>", "BELAY108 bool: `bool` cannot be sampled from a texture"],
    ["texture_storage_2d<rgba8, write>", "BELAY100 rgba8: `rgba8` is not declared"],
    ["texture_storage_2d<write, write>", "BELAY104 write: expected a texel format in this template list"],
  ])("%s is refused", (text, finding) => {
    expect(findings(`${declarations} alias T = ${text};`)).toEqual([finding]);
  });

  test("the result structs of predeclared functions cannot be written", () => {
    const { module, typeOf } = resolved("const parts = frexp(1.5f);");
    const [parts] = module.declarations;
    if (parts?.kind !== "const") throw new Error("expected a const");
    expect(() => typeExpressionOf(typeOf(parts.initializer))).toThrow("__frexp_result_f32");
  });

  test("a struct keeps its members' types and attributes", () => {
    const { module, typeDenotedBy } = resolved(
      "struct S { @align(32) a: f32, @size(two * 8) b: u32 } const two = 2; alias T = S;",
    );
    const alias = module.declarations.at(-1)!;
    if (alias.kind !== "alias") throw new Error("expected an alias");
    expect(typeDenotedBy(alias.type)).toMatchObject({
      kind: "struct",
      name: "S",
      members: [
        { name: "a", align: 32 },
        { name: "b", size: 16 },
      ],
      declaration: module.declarations[0],
    });
  });
});
