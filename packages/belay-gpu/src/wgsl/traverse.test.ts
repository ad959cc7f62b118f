import { expect, test } from "vitest";
import type { Expression, FunctionDeclaration, Statement } from "./ast.ts";
import { parse, parseExpression, parseStatements } from "./parser.ts";
import { print, printExpression, printStatement } from "./printer.ts";
import { expression, statements } from "./quote.ts";
import { type AnyNode, children, mapExpression, mapExpressions, mapStatements, walk } from "./traverse.ts";

const module = parse(`
  @group(0) @binding(k) var<storage> a: array<u32, k>;
  struct S { @size(k) m: vec2<k> }
  @workgroup_size(k) fn f(p: ptr<function, k>) -> @location(k) vec2<k> {
    @diagnostic(off, k) switch k { case k, default: { k = k; } }
    for (var i: k = k; k; k++) { loop { continuing { break if k; } } }
    let x = -k[k].y + k<k>(k); while k { if k { return k; } else if k { const_assert k; } else { _ = k; } }
  }`).module;
const fn = module.declarations.at(-1) as FunctionDeclaration;

/** Renames every `k`. */
const rename = (each: Expression): Expression =>
  each.kind === "identifier" && each.name === "k" ? { ...each, name: "n" } : each;

test("walk visits every node once, parents first, and skips children on request", () => {
  const names: string[] = [];
  walk(module, (node) => {
    if (node.kind === "identifier") names.push(node.name);
  });
  expect(names.filter((each) => each === "k")).toHaveLength(print(module).match(/\bk\b/g)!.length);

  const kinds: string[] = [];
  walk(module, (node) => {
    kinds.push(node.kind);
    return node.kind !== "function" && node.kind !== "struct";
  });
  expect(kinds).toEqual([
    "module",
    "globalVariable",
    "attribute",
    "literal",
    "attribute",
    "identifier",
    "identifier",
    "identifier",
    "identifier",
    "identifier",
    "struct",
    "function",
  ]);
});

test("children come in source order", () => {
  walk(module, (node) => {
    const starts = children(node).map(({ span }) => span.start);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });
});

test("mapExpression goes from the leaves up", () => {
  const seen: string[] = [];
  const { expression: sum } = parseExpression("a + f(b)[c]");
  mapExpression(sum!, (each) => {
    seen.push(printExpression(each));
    return each;
  });
  expect(seen).toEqual(["a", "f", "b", "f(b)", "c", "f(b)[c]", "a + f(b)[c]"]);
});

test("mapExpressions reaches every expression of a declaration", () => {
  const renamed = module.declarations.map((each) => mapExpressions(each, rename));
  expect(print({ ...module, declarations: renamed })).toBe(print(module).replace(/\bk\b/g, "n"));
});

test("unchanged nodes are shared", () => {
  const same = (each: Expression) => each;
  for (const each of module.declarations) expect(mapExpressions(each, same)).toBe(each);
  expect(mapStatements(fn.body, (each) => each)).toBe(fn.body);

  const { expression: sum } = parseExpression("k + f(b)");
  const renamed = mapExpression(sum!, rename) as { right: AnyNode };
  expect(renamed.right).toBe((sum as { right: AnyNode }).right);
});

const map = (source: string, rewrite: (statement: Statement) => Statement | readonly Statement[]) => {
  const block = {
    kind: "block",
    span: { start: 0, end: 0 },
    attributes: [],
    statements: parseStatements(source).statements,
  } as const;
  return printStatement(mapStatements(block, rewrite)).replace(/\s+/g, " ");
};

test("mapStatements replaces a statement by any number of statements, innermost first", () => {
  const rewrite = (each: Statement) =>
    each.kind === "increment" ? [] : each.kind === "callStatement" ? [each, each] : each;
  expect(map("f(); { x++; g(); } loop { continuing { h(); } } switch 1 { default { x++; } }", rewrite)).toBe(
    "{ f(); f(); { g(); g(); } loop { continuing { h(); h(); } } switch (1) { default: {} } }",
  );

  const order: string[] = [];
  map("if a { f(); } else if b { g(); }", (each) => {
    order.push(each.kind === "if" ? `if ${printExpression(each.condition)}` : each.kind);
    return each;
  });
  expect(order).toEqual(["callStatement", "callStatement", "if b", "if a"]);
});

test("an else-if that becomes something else gets a block", () => {
  const isIfB = (each: Statement) => each.kind === "if" && printExpression(each.condition) === "b";
  const unwrap = (each: Statement) => (isIfB(each) ? [...statements`let t = b;`, each] : each);
  expect(map("if a {} else if b {}", unwrap)).toBe("{ if (a) {} else { let t = b; if (b) {} } }");
  expect(map("if a {} else if b {} else {}", (each) => (isIfB(each) ? [] : each))).toBe(
    "{ if (a) {} else {} }",
  );
});

test("the header of a for loop is left alone", () => {
  expect(map("for (f(); ; g()) { h(); }", (each) => (each.kind === "callStatement" ? [] : each))).toBe(
    "{ for (f();; g()) {} }",
  );
});

test("a node of a wrong kind for its place is an internal error", () => {
  const two = [expression`a`, expression`b`];
  expect(() =>
    mapExpression(expression`-x`, (each) => (each.kind === "identifier" ? (two as never) : each)),
  ).toThrow("several nodes");
});

test("lists of any length are walked", () => {
  const declarations = Array.from({ length: 200_000 }, () => fn);
  expect(children({ ...module, declarations })).toHaveLength(200_000);
});
