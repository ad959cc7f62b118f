import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import type { FunctionDeclaration } from "../../wgsl/ast.ts";
import { printExpression } from "../../wgsl/printer.ts";
import type { Target } from "../../wgsl/program.ts";
import { ReexecutableRegions } from "./reexecutableRegion.ts";

/** Loads of `a` can be checked later, and calls of `fixed` must be evaluated once. */
function analysis(body: string, functions = "") {
  const program = typed(`
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    fn fixed() -> u32 { return 1u; }
    ${functions}
    fn f(i: u32) { var sum = 0u; var list: array<u32, 2>; ${body} }`);
  const regions = new ReexecutableRegions(program, {
    isLoad: (each) => each.kind === "index" && printExpression(each).startsWith("a["),
    isFixed: (each) => each.kind === "call" && each.callee.name === "fixed",
    uniform: new Set(),
    lasting: new Set(),
  });
  const named = (name: string) =>
    program.module.declarations.find(
      (each): each is FunctionDeclaration => each.kind === "function" && each.name === name,
    )!;
  const statements = named("f").body.statements.slice(2);
  return { regions, statements, named };
}

/** Returns the names of the variables that a second execution computes again and restores. */
function region(body: string, functions?: string) {
  const { regions, statements } = analysis(body, functions);
  const found = regions.of(statements);
  const names = (targets: Iterable<Target>) => [...targets].map((each) => ("name" in each ? each.name : ""));
  return found && { renewed: names(found.renewed), restored: names(found.restored) };
}

describe("a second execution", () => {
  it("computes again what was declared from loads, and restores what was changed before", () => {
    expect(region("let x = a[i]; let y = x + 1; let z = i; sum += y;")).toEqual({
      renewed: ["x", "y"],
      restored: ["sum"],
    });
  });

  it("covers branches and loops with a known end", () => {
    expect(region("if (a[i] > 3) { sum = 1; } for (var k = 0u; k < 4; k++) { sum += a[k]; }")).toEqual({
      renewed: [],
      restored: ["sum"],
    });
  });

  it("stores again to the same places of another buffer", () => {
    expect(region("let x = a[i]; b[i] = x;")).toEqual({ renewed: ["x"], restored: [] });
  });

  it.each([
    ["that end a function", "if (a[i] > 3) { return; }"],
    ["of loops as long as memory says", "for (var k = 0u; k < a[i]; k++) { sum += 1; }"],
    ["of `while`", "while (sum < a[i]) { sum += 1; }"],
    ["that store to a loaded place", "let x = a[i]; b[x] = 1;"],
    ["that store to a buffer that they load", "let x = a[i]; a[i] = x;"],
    ["that store what must be evaluated once", "let x = a[i]; b[i] = fixed();"],
    ["that branch over what must be evaluated once", "if (a[i] > 3) { sum = fixed(); }"],
    ["that change an array", "list[0] = a[i];"],
    ["with barriers", "let x = a[i]; workgroupBarrier();"],
  ])("is not for statements %s", (_, body) => {
    expect(region(body)).toBeUndefined();
  });

  it("calls functions, but none with a loop", () => {
    const functions = (body: string) => `fn g(n: u32) -> u32 { var r = n; ${body} return r; }`;
    expect(region("let x = g(a[i]);", functions("r += 1;"))).toEqual({ renewed: ["x"], restored: [] });
    expect(region("let x = g(a[i]);", functions("while (r > 9) { r /= 2; }"))).toBeUndefined();
  });
});

it.each([
  ["fn g(i: u32) -> u32 { return a[i] + 1; }", true],
  ["fn g(i: u32) -> u32 { if (i == 0) { return a[0]; } return a[i]; }", true],
  ["fn g(i: u32) -> u32 { return i; }", false],
  ["fn g(i: u32) -> u32 { b[i] = 1; return a[i]; }", false],
  ["fn g(i: u32) -> u32 { return a[i] + fixed(); }", false],
])("a function only returns values computed from loads: %s %s", (text, expected) => {
  const { regions, named } = analysis("", text);
  expect(regions.isTransparent(named("g"))).toBe(expected);
});

it("tells whether the blocks of a branch or loop load", () => {
  const { regions, statements } = analysis(
    "if (i > 0) { sum = a[i]; } if (a[i] > 0) { sum = 1; } sum = a[i];",
  );
  expect(statements.map((each) => regions.loadsInside(each))).toEqual([true, false, false]);
});
