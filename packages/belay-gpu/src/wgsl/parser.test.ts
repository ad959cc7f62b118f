import { describe, expect, test } from "vitest";
import { callCounter } from "../../../../test/support/devices/countCalls.ts";
import { withoutSpans } from "../../../../test/support/wgsl/arbitraryWgsl.ts";
import { parse, parseExpression, parseStatements } from "./parser.ts";
import { printExpression } from "./printer.ts";
import { walk } from "./traverse.ts";

const callsOf = callCounter();

const errors = (source: string) =>
  parse(source).diagnostics.map(({ code, span, message }) => `${code} ${span.start}-${span.end} ${message}`);
/** Returns the errors of statements; offsets count from the first statement. */
const bodyErrors = (statements: string) =>
  parseStatements(statements).diagnostics.map(
    ({ code, span, message }) => `${code} ${span.start}-${span.end} ${message}`,
  );

describe("trees", () => {
  test("spans reach from the first to the last character of a node", () => {
    const source =
      "@id(1) override n: u32 = (a + b) * f(c)[0].x;\nfn f() { *p = -1; if (a) {} else if b {} }";
    const texts: string[] = [];
    walk(parse(source).module, ({ kind, span }) => {
      texts.push(`${kind}: ${source.slice(span.start, span.end)}`);
    });
    expect(texts.slice(1)).toEqual([
      "override: @id(1) override n: u32 = (a + b) * f(c)[0].x;",
      "attribute: @id(1)",
      "literal: 1",
      "identifier: u32",
      "binary: (a + b) * f(c)[0].x",
      "binary: a + b",
      "identifier: a",
      "identifier: b",
      "memberAccess: f(c)[0].x",
      "index: f(c)[0]",
      "call: f(c)",
      "identifier: f",
      "identifier: c",
      "literal: 0",
      "function: fn f() { *p = -1; if (a) {} else if b {} }",
      "block: { *p = -1; if (a) {} else if b {} }",
      "assign: *p = -1",
      "unary: *p",
      "identifier: p",
      "unary: -1",
      "literal: 1",
      "if: if (a) {} else if b {}",
      "identifier: a",
      "block: {}",
      "if: if b {}",
      "identifier: b",
      "block: {}",
    ]);
  });

  test("a double operator is two where only the single one can stand", () => {
    const shape = (source: string) => withoutSpans(parseExpression(source).expression);
    expect(shape("a--b")).toEqual(shape("a - (-b)"));
    expect(shape("--a")).toEqual(shape("-(-a)"));
    expect(shape("&&a")).toEqual(shape("&(&a)"));
    expect(shape("a&&&b")).toEqual(shape("a && (&b)"));
  });

  test("attributes of a loop, its body and its continuing block stay apart", () => {
    const [loop] = parseStatements(
      "@diagnostic(off, a) loop @diagnostic(off, b) { continuing @diagnostic(off, c.d) { break if x; } }",
    ).statements;
    expect(loop).toMatchObject({
      kind: "loop",
      attributes: [{ args: [{}, { name: "a" }] }],
      body: { attributes: [{ args: [{}, { name: "b" }] }] },
      continuing: { attributes: [{ args: [{}, { kind: "memberAccess", member: "d" }] }], statements: [] },
      breakIf: { name: "x" },
    });
  });

  test("empty statements and declarations are dropped", () => {
    expect(parse(";;fn f() {;;;};").module.declarations).toMatchObject([{ body: { statements: [] } }]);
    expect(parse("")).toMatchObject({ module: { directives: [], declarations: [] }, diagnostics: [] });
  });
});

describe("accepted", () => {
  test.each([
    "enable f16, subgroups,; requires buffer_view, swizzle_assignment; diagnostic(off, chromium.unreachable_code,);",
    "struct S { a: i32, @align(16) @size(32,) b: array<f32, 4u>, };",
    "@group(0) @binding(0) var<storage, read_write> a: array<atomic<u32>>; var<private> b = 1; var c: sampler;",
    "@id(3) override n: u32; override m = n * 2; const k: i32 = 3; const_assert k < 4; alias T = vec2<f32>;",
    "@compute @workgroup_size(8, n, 1,) fn f(@builtin(local_invocation_index) i: u32,) -> @location(0) @interpolate(flat, either) vec4f {}",
    "fn f() { switch x { case 1, default, 2, : {} default: {} case 3 @diagnostic(off, a) {} } }",
    "fn f() { for (var i = 0; i < 3; i++) {} for (let x = f(); ; f()) {} for (_ = 1; ; a += 1) {} for (;;) {} }",
    "fn f() { _ = &x; (x) = 1; *p = 2; (*p).x.y[1] = 3; f().x = 4; *(&x) += 5; a[i]--; vec2<f32>(1, 2); }",
    "fn f() @diagnostic(off, a) { @diagnostic(off, a) { } @diagnostic(off, a) switch (1) @diagnostic(off, a) { default {} } }",
  ])("%s", (source) => {
    expect(errors(source)).toEqual([]);
  });
});

describe("operators that cannot be mixed", () => {
  test.each([
    ["a & b | c", "`&` and `|` cannot be mixed", 6],
    ["a << b + c", "`<<` and `+` cannot be mixed", 2],
    ["a + b << c", "`+` and `<<` cannot be mixed", 6],
    ["a << b << c", "`<<` cannot be chained", 7],
    ["a < b < c", "`<` cannot be chained", 6],
    ["a == b != c", "`==` and `!=` cannot be mixed", 7],
    ["a || b && c", "`||` and `&&` cannot be mixed", 7],
    ["a && b || c", "`&&` and `||` cannot be mixed", 7],
    ["a & b == c", "`&` and `==` cannot be mixed", 2],
    ["a ^ b * c", "`^` and `*` cannot be mixed", 2],
    ["a & b && c", "`&` and `&&` cannot be mixed", 6],
  ])("%s", (source, message, start) => {
    const { expression, diagnostics } = parseExpression(source);
    expect(diagnostics).toMatchObject([{ code: "BELAY006", message, span: { start } }]);
    expect(expression).not.toBeNull();
  });

  test.each([
    "a & b & c",
    "a + b * c - d % e",
    "a < b + c",
    "a << b < c",
    "-a * !b",
    "a && b < c && d",
    "a & ~b",
  ])("%s is no such mixture", (source) => {
    expect(parseExpression(source).diagnostics).toEqual([]);
    expect(printExpression(parseExpression(source).expression!)).toBe(source);
  });
});

describe("errors", () => {
  test.each([
    ["enable f17;", ["BELAY010 7-10 `f17` is not an extension that Belay knows"]],
    ["requires f16;", ["BELAY010 9-12 `f16` is not a language feature that Belay knows"]],
    ["diagnostic(fatal, a);", ["BELAY012 11-16 `fatal` is not a severity"]],
    ["const a = 1; enable f16;", ["BELAY009 13-24 a directive is allowed only before all declarations"]],
    ["; enable f16;", ["BELAY009 2-13 a directive is allowed only before all declarations"]],
    ["import foo;", ["BELAY004 0-6 `import` is a reserved word"]],
    ["include foo;", ["BELAY011 0-7 `include` starts neither a directive nor a declaration"]],
    [
      "const a: i32;",
      ["BELAY005 12-13 expected `=` and a value, which a `let` or `const` must have, found `;`"],
    ],
    ["struct S {}", ["BELAY005 10-11 expected the name of a member, found `}`"]],
    ["fn f( { }", ["BELAY005 6-7 expected the name of a parameter, found `{`"]],
    ["fn f() {", ["BELAY005 8-8 expected `}` at the end of the block, found the end of the source"]],
    ["@group(0, 1) var a: i32;", ["BELAY014 0-12 `@group` takes 1 argument"]],
    ["@compute() fn f() {}", ["BELAY014 0-10 `@compute` takes no arguments"]],
    ["@workgroup_size fn f() {}", ["BELAY014 0-15 `@workgroup_size` takes 1 to 3 arguments"]],
    ["@work_group(1) fn f() {}", ["BELAY013 0-14 there is no attribute `@work_group`"]],
    ["@id(1) struct S { a: i32 }", ["BELAY015 0-6 this kind of declaration takes no attributes"]],
    ["var a: array<i32,>;var b: vec2<>;", ["BELAY005 31-32 expected an expression, found `>`"]],
    ["}", ["BELAY005 0-1 expected a declaration, found `}`"]],
  ])("%s", (source, expected) => {
    expect(errors(source)).toEqual(expected);
  });

  test.each([
    ["let a = 1", ["BELAY005 9-9 expected `;` after the statement, found the end of the source"]],
    ["let a;", ["BELAY005 5-6 expected `=` and a value, which a `let` or `const` must have, found `;`"]],
    ["a;", ["BELAY005 1-2 expected `=`, another assignment operator, `++` or `--`, found `;`"]],
    ["1 = 2;", ["BELAY005 0-1 expected a statement, found `1`"]],
    ["(a + b) = 2;", ["BELAY008 0-7 this expression cannot be assigned to"]],
    ["vec2<f32> = 2;", ["BELAY008 0-9 this expression cannot be assigned to"]],
    ["(f());", ["BELAY005 5-6 expected `=`, another assignment operator, `++` or `--`, found `;`"]],
    ["switch a {}", ["BELAY005 10-11 expected `case` or `default`, found `}`"]],
    ["loop { continuing {} a = 1; }", ["BELAY005 21-22 expected `}` at the end of the block, found `a`"]],
    ["continuing {}", ["BELAY009 0-10 `continuing` is allowed only at the end of a `loop` body"]],
    ["break if a;", ["BELAY009 0-10 `break if` is allowed only at the end of a `continuing` block"]],
    ["else {}", ["BELAY009 0-4 `else` is allowed only after the block of an `if`"]],
    ["@diagnostic(off, a) a = 1;", ["BELAY015 0-19 this kind of statement takes no attributes"]],
    ["a = b c;", ["BELAY005 5-5 expected `;` after the statement, found `c`"]],
    ["a = f(1,, 2);", ["BELAY005 8-9 expected an expression, found `,`"]],
  ])("%s", (source, expected) => {
    expect(bodyErrors(source)).toEqual(expected);
  });
});

describe("recovery", () => {
  test("each broken statement is reported once, and the others are kept", () => {
    const { module, diagnostics } = parse(`
      fn f() { let a = ; let b = 1 let c = 2; if (x { y(); } z(); }
      fn g() { return 1; `);
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "expected an expression, found `;`",
      "expected `;` after the statement, found `let`",
      "expected `)` after the expression, found `{`",
      "expected `}` at the end of the block, found the end of the source",
    ]);
    expect(module.declarations).toMatchObject([
      { name: "f", body: { statements: [{ name: "b" }, { name: "c" }] } },
      { name: "g", body: { statements: [{ kind: "return" }] } },
    ]);
  });

  test("a lost brace does not hide the next function", () => {
    const { module, diagnostics } = parse("fn f() { if a { b(); \nfn g() {}");
    expect(diagnostics).toMatchObject([{ message: "expected `}` at the end of the block, found `fn`" }]);
    expect(module.declarations).toMatchObject([
      { name: "f", body: { statements: [{ kind: "if" }] } },
      { name: "g" },
    ]);
  });

  test("a broken declaration does not hide the next one", () => {
    const { module, diagnostics } = parse("struct S { a b: { i32 } } ; var x i32; const y = 1;");
    expect(diagnostics).toHaveLength(2);
    expect(module.declarations).toMatchObject([{ kind: "const", name: "y" }]);
  });
});

describe("any input is parsed in bounded time", () => {
  const nested = (open: string, close: string, times: number) => open.repeat(times) + close.repeat(times);

  test.each([
    ["parentheses", `const a = ${"(".repeat(10_000)}1${")".repeat(10_000)};`],
    ["negations", `const a = ${"!".repeat(10_000)}b;`],
    ["pointers", `fn f() { ${"*".repeat(10_000)}p = 1; }`],
    ["blocks", `fn f() ${nested("{", "}", 10_000)}`],
    ["loops", `fn f() { ${nested("loop { continuing {", "} }", 5_000)} }`],
    ["else if", `fn f() { if a {} ${"else if a {} ".repeat(10_000)} }`],
    ["sums", `const a = ${"b + ".repeat(100_000)} 1;`],
    ["qualifiers", `var<${"b + ".repeat(10_000)} 1> a: i32;`],
    ["attribute arguments", `@id(${"b + ".repeat(10_000)} 1) override a: i32;`],
    ["accesses", `const a = b${"[0].x".repeat(50_000)};`],
    ["template lists", `var a: ${nested("array<", ">", 10_000)};`],
    ["calls", `const a = ${nested("f(", ")", 10_000)};`],
  ])("deep %s are one error", (_what, source) => {
    expect(parse(source).diagnostics).toMatchObject([{ code: "BELAY007" }]);
  });

  test("nesting below the limits is accepted", () => {
    const sum = `${"a + ".repeat(350)}1`;
    const source = `fn f() { ${"if a { ".repeat(125)} x = ${"f(".repeat(126)}${sum}${")".repeat(126)}; ${"}".repeat(125)} }`;
    expect(errors(source)).toEqual([]);
  });

  test.each([
    [
      "binary data",
      Array.from({ length: 1 << 18 }, (_, i) => String.fromCharCode((i * 7919 + (i >> 3)) & 255)).join(""),
    ],
    ["attributes", "@".repeat(1 << 18)],
    ["braces", "fn f() {{}}".repeat(1000) + "{".repeat(1 << 18)],
    ["zeros", "0".repeat(1 << 20)],
    ["open comments", "/*".repeat(1 << 18)],
    ["template starts", "a<".repeat(1 << 18)],
    ["half operators", "const a = b--".repeat(1 << 15)],
  ])("%s give a bounded number of errors, for bounded work", async (_what, source) => {
    let found = 0;
    const calls = await callsOf(() => {
      found = parse(source).diagnostics.length;
    });
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThanOrEqual(101);
    expect(calls / source.length).toBeLessThan(50);
  });
});
