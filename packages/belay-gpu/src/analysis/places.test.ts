import { describe, expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import type { Expression } from "../wgsl/ast.ts";
import { printExpression } from "../wgsl/printer.ts";
import { describeType } from "../wgsl/typeNames.ts";
import { addressOf } from "./addresses.ts";
import { functionsOf } from "./callGraph.ts";
import {
  addressSpaceOf,
  containsAtomic,
  isShared,
  placeOf,
  rootVariable,
  spaceOf,
  storesToShared,
} from "./places.ts";

const prelude = `
  enable f16;
  requires unrestricted_pointer_parameters;
  struct Inner { flag: u32, at: vec3f, h: array<vec3h, 4> }
  struct Part { mass: f32, @size(160) inner: array<Inner, 2>, m: mat3x2f, @align(64) last: vec4u }
  override n = 4;
  @group(0) @binding(0) var<storage, read_write> parts: array<Part>;
  @group(0) @binding(1) var<uniform> size: vec4f;
  @group(0) @binding(2) var<storage, read_write> counts: array<array<atomic<u32>, 2>>;
  @group(0) @binding(3) var image: texture_2d<f32>;
  var<workgroup> tile: array<array<f32, 5>, 3>;
  var<private> mine: vec2f;
`;

/** Returns the program of a function with one load or store, the statement, and the place in it. */
function placeIn(place: string, statement = `_ = ${place};`) {
  const program = typed(
    `${prelude} fn f(i: u32, j: i32, p: ptr<storage, Part, read_write>) { const k = 1; var local: vec2f; ${statement} }`,
  );
  const last = functionsOf(program)[0]!.body.statements.at(-1)!;
  if (last.kind !== "assign") throw new Error("the statement is an assignment");
  return { program, statement: last, expression: (last.target ?? last.value) as Expression };
}

/** Returns the text of a product with a rotation, in parentheses if it is a term of a sum. */
function scaled(product: string, shift: number, inSum = false): string {
  const factor = product.includes("*") ? `(${product})` : product;
  const rotation = `(${factor} << ${shift}u) | (${factor} >> ${32 - shift}u)`;
  return inSum ? `(${rotation})` : rotation;
}

describe("a place", () => {
  it.each([
    ["parts[i].mass", "parts", scaled("u32(i) * 5u", 6), "f32"],
    ["parts[2].inner[i].at.y", "parts", `${scaled("u32(i)", 6, true)} + 676u`, "f32"],
    [
      "parts[j].inner[1].h[i + 1u][2]",
      "parts",
      `${scaled("u32(j) * 5u", 6, true)} + ${scaled("u32(i + 1u)", 3, true)} + 116u`,
      "f16",
    ],
    [
      "parts[k].m[i][j]",
      "parts",
      `${scaled("u32(i)", 3, true)} + ${scaled("u32(j)", 2, true)} + 496u`,
      "f32",
    ],
    ["parts[3].last.z", "parts", "1224u", "u32"],
    ["(*&parts[0]).inner[k].flag", "parts", "80u", "u32"],
    ["tile[i][4]", "tile", `${scaled("u32(i) * 5u", 2, true)} + 16u`, "f32"],
    ["tile[n]", "tile", scaled("u32(n) * 5u", 2), "array<f32, 5>"],
    ["size.w", "size", "12u", "f32"],
    ["mine", "mine", "0u", "vec2<f32>"],
  ])("%s", (text, variable, address, type) => {
    const { program, expression } = placeIn(text);
    const place = placeOf(program, expression)!;
    expect(place.variable.name).toBe(variable);
    expect(printExpression(addressOf(program, place).expression)).toBe(address);
    expect(addressOf(program, place).indices.length > 0).toBe(/[a-z]\)/.test(address));
    expect(describeType(place.type)).toBe(type);
  });

  it.each(["p.mass", "local.x", "i", "parts[i].mass + 1.0", "vec2f(1.0).x"])(
    "is not denoted by %s",
    (text) => {
      const { program, expression } = placeIn(text);
      expect(placeOf(program, expression)).toBeUndefined();
    },
  );
});

it("finds the variable at the root of a place, also through pointers", () => {
  for (const text of ["parts[i].inner[0].at.xy", "&parts[i]", "(*&parts[1]).mass"]) {
    const { program, expression } = placeIn(text);
    expect(rootVariable(program, expression)?.variable.name).toBe("parts");
    expect(rootVariable(program, expression)?.identifier.name).toBe("parts");
  }
  const { program, expression } = placeIn("local.x");
  expect(rootVariable(program, expression)).toBeUndefined();
});

describe("a store", () => {
  it.each([
    ["parts[i].mass = 1.0", "storage", true],
    ["parts[i].last.zx = vec2u()", "storage", true],
    ["parts[i].last.zyx.x = 1u", "storage", true],
    ["p.last.zx = vec2u()", "storage", true],
    ["tile[i][j] = 1.0", "workgroup", true],
    ["mine.yx = vec2f()", "private", false],
    ["local = vec2f()", "function", false],
  ])("%s", (text, space, shared) => {
    const { program, statement, expression } = placeIn("", `${text};`);
    expect(spaceOf(program, expression)).toBe(space);
    expect(isShared(spaceOf(program, expression))).toBe(shared);
    expect(storesToShared(program, statement)).toBe(shared);
  });
});

it("returns the address space of a variable, and whether it contains an atomic", () => {
  const { program } = placeIn("mine");
  const variables = program.module.declarations.filter((d) => d.kind === "globalVariable");
  expect(
    variables.map((v) => [v.name, addressSpaceOf(v), containsAtomic(program.declaredTypeOf(v))]),
  ).toEqual([
    ["parts", "storage", false],
    ["size", "uniform", false],
    ["counts", "storage", true],
    ["image", "handle", false],
    ["tile", "workgroup", false],
    ["mine", "private", false],
  ]);
});
