import { expect, test } from "vitest";
import { findings, resolved, typeOf } from "../../../../../test/support/wgsl/resolved.ts";
import { parse } from "../parser.ts";
import { resolve } from "./resolve.ts";
import { similarName } from "./suggest.ts";

test.each([
  [
    "module-scope declarations in any order",
    "fn f() -> T { return c; } const c = T(d); const d = 2; alias T = u32;",
  ],
  ["a local variable over a module-scope one", "const x = 1u; fn f() { let x = f32(x); let y: f32 = x; }"],
  [
    "an initializer that sees the outer name",
    "fn f() { let x = 1; { let x = vec2(x, x); let y: vec2<i32> = x; } }",
  ],
  ["a function over a predeclared one", "fn max(x: f32) -> f32 { return x; } fn f() { let y = max(1); }"],
  ["a variable over a predeclared type", "fn f() { let f32 = 1u; let y: u32 = f32; }"],
  ["a parameter over its own function", "fn f(f: i32) -> i32 { return f; }"],
  ["a struct member, which is no name in scope", "struct S { S: i32 } fn f(s: S) { let x: i32 = s.S; }"],
  [
    "a for loop's variable in its own scope",
    "fn f() { for (var i = 0; i < 2; i++) { let i = 1.5; } let i = true; }",
  ],
  [
    "a loop's body in its continuing block",
    "fn f() { loop { let x = 1; continuing { let y = x; break if y > 0; } } }",
  ],
  [
    "attribute words that are no names",
    "@vertex fn f() -> @builtin(position) vec4f { let position = 1; return vec4f(); }",
  ],
  ["a local name that hides a recursive look", "fn f() { let g = 1; let x = g; } fn g() { f(); }"],
])("accepts %s", (_, source) => {
  resolved(source);
});

test.each([
  ["fn f() { let x = y; }", "BELAY100 y: `y` is not declared"],
  ["fn f() { { let x = 1; } let y = x; }", "BELAY100 x: `x` is not declared"],
  ["fn f() { let x = x; }", "BELAY100 x: `x` is not declared"],
  [
    "var i: input_attachment<f32>;",
    "BELAY120 input_attachment<f32>: `input_attachment` belongs to the extension `chromium_internal_input_attachments`, which is not supported",
  ],
  ["const a = 1; fn a() {}", "BELAY101 a: `a` is already declared in this scope"],
  ["fn f(x: i32) { let x = 1; }", "BELAY101 x: `x` is already declared in this scope"],
  ["struct S { a: i32, a: f32 }", "BELAY101 a: `a` is already declared in this scope"],
  ["fn f() { g(); } fn g() { f(); }", "BELAY102 f: `f` depends on itself"],
  ["const a = b; const b = a + 1;", "BELAY102 a: `a` depends on itself"],
  ["struct S { next: S }", "BELAY102 S: `S` depends on itself"],
  ["fn f() { let x = f32; }", "BELAY103 f32: `f32` is not a value"],
  ["const c = 1; fn f(x: c) {}", "BELAY103 c: `c` is not a type"],
  ["const c = 1; fn f() { c(); }", "BELAY103 c: `c` is not a function or a type"],
  [
    "@compute @workgroup_size(1) fn f() {} fn g() { f(); }",
    "BELAY103 f: `f` is an entry point, which cannot be called",
  ],
])("refuses %s", (source, finding) => {
  expect(findings(source)).toEqual([finding]);
});

test("an unknown name is reported once, without consequences", () => {
  expect(findings("fn f() { let x = nothing; let y = x.z + x[1]; var z: f32 = y; z += -x; }")).toHaveLength(
    1,
  );
});

test("a cycle is shown", () => {
  const program = resolve(parse("const a = b; const b = c; const c = a;").module);
  expect(program.diagnostics[0]!.notes).toEqual(["the cycle is a -> b -> c -> a"]);
});

test.each([
  ["workgroupBarier", "workgroupBarrier"],
  ["mxa", "max"],
  ["Vec3f", "vec3f"],
  ["xyz", undefined],
])("for %s, %s is suggested", (name, expected) => {
  expect(similarName(name, ["workgroupBarrier", "max", "min", "vec3f", "vec2f"])).toBe(expected);
});

test("the name nearest to an unknown one is suggested", () => {
  expect(resolve(parse("const radius = 1; fn f() { let d = radus * 2; }").module).diagnostics[0]!.help).toBe(
    "did you mean `radius`?",
  );
});

test("targets are the declarations", () => {
  const { module, targetOf } = resolved("const size = 4; alias Row = array<f32, size>;");
  const [size, row] = module.declarations;
  if (row?.kind !== "alias") throw new Error("expected an alias");
  expect(targetOf(row.type)).toMatchObject({ kind: "builtin", name: "array", category: "type" });
  expect(row.type.templateArgs!.map((arg) => arg.kind === "identifier" && targetOf(arg))).toEqual([
    { kind: "builtin", name: "f32", category: "type" },
    size,
  ]);
});

test("a node with two meanings is an internal error", () => {
  const { module } = parse("fn f() { let x = 1; let y = x; }");
  const [f] = module.declarations;
  if (f?.kind !== "function") throw new Error("expected a function");
  const [x, y] = f.body.statements;
  const other = { ...f, name: "g", body: { ...f.body, statements: [{ ...x! }, y!] } };
  expect(() => resolve({ ...module, declarations: [f, other] })).toThrow(
    "one node stands for two things named x",
  );
});

test("a predeclared alias is its type", () => {
  expect(typeOf("mat4x3h()")).toBe("mat4x3<f16>");
});
