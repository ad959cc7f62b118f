import { describe, expect, it } from "vitest";
import { checkedKernel, flat } from "../../../../../test/support/wgsl/checkedKernel.ts";
import type { Expression } from "../../wgsl/ast.ts";
import { printExpression, printStatement } from "../../wgsl/printer.ts";
import { ReexecutableRegions } from "./reexecutableRegion.ts";
import { SpeculativeLoads } from "./speculativeLoads.ts";
import { type Where, WordExpressions } from "./wordExpressions.ts";

const functions = `
  fn first(n: u32) -> u32 { return a[n]; }
  fn own(n: u32) -> u32 { return a[n]; }`;

/** An expression of a kernel. Calls of `own` check their own loads. */
function kernel(text: string) {
  const { program, names, granules, runs, wordAccess, assignments, byKind } = checkedKernel(`_ = ${text};`, {
    functions,
  });
  const uniform = new Set<Expression>();
  const expressions = new WordExpressions(program, names, {
    access: wordAccess,
    lines: runs,
    uniform,
    isTransparent: ({ name }) => name === "first",
    madeWith: ({ name }, kind) => `${kind}_${name}`,
  });
  const isLoad = (each: Expression) => expressions.isLoad(each);
  const replays = new ReexecutableRegions(program, {
    isLoad,
    isFixed: () => false,
    uniform: new Set(),
    lasting: new Set(),
  });
  const ahead = new SpeculativeLoads(program, names, {
    lines: runs,
    findings: granules.findings,
    replays,
    isLoad,
  });
  const { value } = assignments[0]!;
  const rewritten = (where: Where) => byKind(flat(printExpression(expressions.value(value, where))));
  const loads = () => ahead.statements().map((each) => byKind(flat(printStatement(each))));
  return { value, isLoad, rewritten, uniform, ahead, loads };
}

describe("a load", () => {
  it("becomes a call that treats syndromes as its place demands", () => {
    const { rewritten } = kernel("a[i] + a[k + 1]");
    expect(rewritten("corrected")).toBe("corrected(u32(i)) + corrected(u32(k + 1))");
    expect(rewritten("repaired")).toBe("repaired(u32(i)) + repaired(u32(k + 1))");
  });

  it("runs ahead of its statement, with the load of its index", () => {
    const { rewritten, ahead, loads } = kernel("a[a[i]] + 1");
    expect(rewritten(ahead)).toBe("loaded_2 + 1");
    expect(loads()).toEqual([
      "var loaded_1 = peeked(u32(i));",
      "var loaded_2 = peeked(u32(loaded_1));",
      "if (bad != 0u) { bad = 0u; loaded_1 = repaired(u32(i)); loaded_2 = repaired(u32(loaded_1)); tell(); }",
    ]);
  });

  it.each(["&&", "||"])("stays in the right operand of %s, which may not be evaluated", (operator) => {
    const { rewritten, ahead } = kernel(`a[i] > 1 ${operator} a[k] > 2`);
    expect(rewritten(ahead)).toBe(`loaded_1 > 1 ${operator} corrected(u32(k)) > 2`);
  });

  it("keeps the words of memory where WGSL requires a uniform value", () => {
    const { value, rewritten, uniform, ahead } = kernel("a[a[0]]");
    uniform.add(value);
    expect(rewritten(ahead)).toBe("uniform(u32(uniform(u32(0))))");
  });
});

describe("a function that loads", () => {
  it("is called in a version that peeks, and in one that repairs", () => {
    const { rewritten, ahead, loads } = kernel("first(a[i])");
    expect(rewritten(ahead)).toBe("loaded_2");
    expect(loads().slice(1)).toEqual([
      "var loaded_2 = peeked_first(loaded_1);",
      "if (bad != 0u) { bad = 0u; loaded_1 = repaired(u32(i)); loaded_2 = repaired_first(loaded_1); tell(); }",
    ]);
    expect(rewritten("corrected")).toBe("corrected_first(corrected(u32(i)))");
  });

  it("is called as it is if it checks its own loads", () => {
    const { rewritten, ahead } = kernel("own(a[i])");
    expect(rewritten(ahead)).toBe("own(loaded_1)");
  });
});

it.each([
  ["a[i]", true],
  ["first(i)", true],
  ["own(i)", false],
  ["i + 1", false],
  ["&a[i]", false],
])("tells whether the syndromes of %s can be tested later: %s", (text, expected) => {
  const { value, isLoad } = kernel(text);
  expect(isLoad(value)).toBe(expected);
});

it("computes the length of a protected array by a function", () => {
  expect(kernel("arrayLength(&a) - 1").rewritten("corrected")).toBe("length_1() - 1");
});

it("keeps a binding in use by a pointer to its granules", () => {
  expect(kernel("&a").rewritten("corrected")).toBe("&granules_a");
});
