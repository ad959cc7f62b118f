import { expect, test } from "vitest";
import { printDeclaration, printExpression, printStatement } from "./printer.ts";
import { declarations, expression, quote, statements } from "./quote.ts";
import { walk } from "./traverse.ts";

const print = (each: Parameters<typeof printStatement>[0]) => printStatement(each).replace(/\s+/g, " ");
const sum = expression`a + b`;

test("text is inserted as it is", () => {
  expect(printExpression(expression`${"f"}(${3}u, ${"x.y"})`)).toBe("f(3u, x.y)");
  expect(declarations`${"const a = 1; const b = 2;"}`).toHaveLength(2);
});

test("text never becomes a node, whatever names it contains", () => {
  const names = ["hole0", "hole_1", "hole__2"];
  expect(printExpression(expression`f(${sum}, ${names[0]!}, ${names[1]!}, ${names[2]!}, hole4)`)).toBe(
    "f(a + b, hole0, hole_1, hole__2, hole4)",
  );
});

test("an inserted expression stays one operand", () => {
  expect(printExpression(expression`${sum} * c`)).toBe("(a + b) * c");
  expect(printExpression(expression`${sum}.x[${sum}]`)).toBe("(a + b).x[a + b]");
  expect(printExpression(expression`${sum}`)).toBe("a + b");
  expect(printExpression(expression`-${expression`f(1)`}`)).toBe("-f(1)");
  expect(statements`const_assert ${sum}; ${expression`f(1)`}; ${expression`*p`} = 1;`.map(print)).toEqual([
    "const_assert a + b;",
    "f(1);",
    "*p = 1;",
  ]);
});

test("a name stands as a type, a callee or a target", () => {
  const name = { ...expression`array<u32, 4>` } as ReturnType<typeof expression> & { kind: "identifier" };
  expect(statements`var x: ${name} = ${name}(); ${expression`x`}[0] = 1;`.map(print)).toEqual([
    "var x: array<u32, 4> = array<u32, 4>();",
    "x[0] = 1;",
  ]);
});

test("several expressions stand between commas", () => {
  expect(printExpression(expression`f(x, ${[sum, expression`c`]})`)).toBe("f(x, a + b, c)");
  expect(printExpression(expression`f(${[]})`)).toBe("f()");
});

test("statements and declarations are inserted with or without a semicolon", () => {
  const body = statements`x = 1; y();`;
  expect(statements`if c { ${body} } else { ${[]} } ${body[0]!}; ${[]} loop { ${body} }`.map(print)).toEqual([
    "if (c) { x = 1; y(); } else {}",
    "x = 1;",
    "loop { x = 1; y(); }",
  ]);
  const [constant] = declarations`const a = 1;`;
  expect(
    declarations`var<private> x: i32; ${constant!} ${[]} fn f() { ${body} }`.map(printDeclaration),
  ).toHaveLength(3);
});

test("new nodes get the requested span, inserted ones keep theirs", () => {
  const inserted = quote({ start: 1, end: 2 }).expression`inserted`;
  const [statement] = quote({ start: 7, end: 9 }).statements`let x: u32 = y + ${inserted};`;
  const spans: Record<string, number> = {};
  walk(statement!, (node) => {
    spans[node.kind === "identifier" ? node.name : node.kind] = node.span.start;
  });
  expect(spans).toEqual({ let: 7, u32: 7, binary: 7, y: 7, inserted: 1 });
  expect(statement).toMatchObject({ nameSpan: { start: 7, end: 9 } });
});

test("a broken template is an internal error", () => {
  expect(() => statements`let = 1;`).toThrow("expected a name to declare");
  expect(() => expression`a b`).toThrow("expected nothing more here");
  expect(() => declarations`enable f16;`).toThrow("a directive");
  expect(() => declarations`fn ${sum}() {}`).toThrow("where only text can stand");
});
