import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import type { Target } from "../../wgsl/program.ts";
import { type AnyNode, contains } from "../../wgsl/traverse.ts";
import { changedIn, Taint } from "./taint.ts";

const namesOf = (targets: Iterable<Target>) =>
  [...targets].map((each) => ("name" in each ? each.name : "")).sort();

/** Returns the locals of a function body that may hold elements of `a`. */
function tainted(body: string): string[] | undefined {
  const { program, statements } = bodyOf(body);
  const isElement = (each: AnyNode) => each.kind === "index";
  const found = new Taint(program, (node) => contains(node, isElement)).of(statements);
  return found && namesOf(found);
}

function bodyOf(body: string) {
  const program = typed(`
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    fn f(i: u32) { var sum = 0u; var other = 0u; ${body} }`);
  const fn = program.module.declarations.at(-1)!;
  if (fn.kind !== "function") throw new Error("the last declaration is f");
  return { program, statements: fn.body.statements };
}

describe("the locals that may hold loaded values", () => {
  it("are assigned what was loaded, or what was computed from it", () => {
    expect(tainted("let x = a[i]; let y = x + 1; sum += y; other = i;")).toEqual(["sum", "x", "y"]);
  });

  it("are those that a branch on a loaded value changes", () => {
    expect(tainted("if (a[i] > 3) { sum = 1; } else { let z = 2; } if (i > 3) { other = 1; }")).toEqual([
      "sum",
      "z",
    ]);
  });

  it("reach those that an earlier statement of a loop assigns", () => {
    expect(tainted("for (var k = 0u; k < 4; k++) { other = sum; sum = a[k]; }")).toEqual(["other", "sum"]);
  });

  it.each([
    ["decides the end of a loop", "for (var k = 0u; k < a[i]; k++) { sum += 1; }"],
    ["decides the steps of a loop", "sum = a[i]; for (var k = 0u; k < 4; k += sum) { other += 1; }"],
    ["begins a loop", "sum = a[i]; for (var k = sum; k < 4; k++) { other += 1; }"],
  ])("are not known where a loaded value %s", (_, body) => {
    expect(tainted(body)).toBeUndefined();
  });

  it("are known where a loop begins with a load, which is checked in its place", () => {
    expect(tainted("for (var k = a[i]; k < 4; k++) { sum += 1; }")).toEqual([]);
  });
});

it("finds the earlier variables that a statement changes, in all its blocks", () => {
  const { program, statements } = bodyOf(
    "if (i > 3) { var own = 1u; own += 1; sum = own; } else { other++; }",
  );
  expect(namesOf(changedIn(program, statements.at(-1)!))).toEqual(["other", "sum"]);
});
