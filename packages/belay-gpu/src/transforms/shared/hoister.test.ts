import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import type { Assignment, Expression, Statement } from "../../wgsl/ast.ts";
import { printExpression, printStatement } from "../../wgsl/printer.ts";
import { Hoister } from "./hoister.ts";
import { Names } from "./names.ts";

type Method = "operation" | "value" | "place" | "stable";

/** Returns the statements that an expression needs before it, and then the expression. */
function hoisted(method: Method, text: string): string[] {
  const program = typed(`
    @group(0) @binding(0) var<storage, read_write> n: atomic<u32>;
    @group(0) @binding(1) var<storage, read_write> m: atomic<u32>;
    @group(0) @binding(2) var<storage, read_write> a: array<vec2u>;
    fn f(i: u32) { var sum = 0u; _ = ${text}; }`);
  const fn = program.module.declarations.at(-1);
  if (fn?.kind !== "function") throw new Error("the last declaration is f");
  const { value } = fn.body.statements.at(-1) as Assignment;
  const before: Statement[] = [];
  const made: Expression = new Hoister(program, new Names(program))[method](value, before);
  return [...before.map(printStatement), printExpression(made)].map((each) =>
    each.replaceAll(/\s+/g, " ").replaceAll("belay_", ""),
  );
}

describe("a value", () => {
  it("stays as it is without memory operations", () => {
    expect(hoisted("value", "a[i].x + sum")).toEqual(["a[i].x + sum"]);
  });

  it("is computed from saved results of memory operations, in their order", () => {
    expect(hoisted("value", "atomicLoad(&n) * atomicLoad(&m)")).toEqual([
      "let value_1 = atomicLoad(&n);",
      "let value_2 = atomicLoad(&m);",
      "value_1 * value_2",
    ]);
  });

  it("saves what comes before a memory operation, which may change it", () => {
    expect(hoisted("value", "a[i].x + atomicAdd(&n, 1u) + sum")).toEqual([
      "let value_1 = a[i].x;",
      "let value_2 = atomicAdd(&n, 1u);",
      "value_1 + value_2 + sum",
    ]);
  });

  it.each([
    ["&&", "condition_1"],
    ["||", "!condition_1"],
  ])("evaluates the right operand of %s only if it is needed", (operator, needed) => {
    expect(hoisted("value", `i > 3u ${operator} atomicAdd(&n, 1u) > 4u`)).toEqual([
      "var condition_1 = i > 3u;",
      `if (${needed}) { let value_1 = atomicAdd(&n, 1u); condition_1 = value_1 > 4u; }`,
      "condition_1",
    ]);
  });
});

it("gives a memory operation operands that are stable", () => {
  expect(hoisted("operation", "atomicAdd(&n, sum + 1u)")).toEqual([
    "let value_1 = sum + 1u;",
    "atomicAdd(&n, value_1)",
  ]);
});

it("gives a place stable indices", () => {
  expect(hoisted("place", "a[atomicAdd(&n, 1u)].x")).toEqual([
    "let value_1 = atomicAdd(&n, 1u);",
    "a[value_1].x",
  ]);
  expect(hoisted("place", "a[sum + 1u].x")).toEqual(["let value_1 = sum + 1u;", "a[value_1].x"]);
});

it.each([
  ["a parameter", "i", ["i"]],
  ["a constant", "2u + 3u", ["2u + 3u"]],
  ["a variable", "sum", ["let value_1 = sum;", "value_1"]],
  ["a pointer", "&a[sum]", ["let value_1 = sum;", "&a[value_1]"]],
])("makes %s stable", (_, text, expected) => {
  expect(hoisted("stable", text)).toEqual(expected);
});
