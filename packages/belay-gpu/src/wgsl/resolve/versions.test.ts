import { describe, expect, it } from "vitest";
import type { Module } from "../ast.ts";
import { parse } from "../parser.ts";
import type { Program } from "../program.ts";
import { isExpression, mapExpressions, walk } from "../traverse.ts";
import { describeType, resolve, versionsOf } from "./index.ts";

const source = resolve(
  parse(`
    const n = 4;
    alias Row = array<u32, n>;
    var<private> row: Row;
    fn last() -> u32 { return row[n - 1]; }
    fn twice() -> u32 { return 2 * last(); }
    fn other() -> f32 { return 1.5; }`).module,
);

const named = (program: Program, name: string) =>
  program.module.declarations.find((each) => "name" in each && each.name === name)!;

/** Returns the module with all literals of one text replaced, and all other nodes shared. */
const replaced = (module: Module, from: string, to: string): Module =>
  mapExpressions(module, (e) => (e.kind === "literal" && e.text === from ? { ...e, text: to } : e));

/** Returns all facts that a program has about its expressions. */
function facts(program: Program): unknown[] {
  const found: unknown[] = [];
  walk(program.module, (node) => {
    if (node.kind === "attribute") return false;
    if (node.kind === "identifier") found.push(program.targetOf(node));
    const isValue =
      isExpression(node) && (node.kind !== "identifier" || isVariable(program.targetOf(node)?.kind));
    if (isValue)
      found.push([describeType(program.typeOf(node)), program.stageOf(node), program.constantOf(node)]);
    return true;
  });
  return found;
}
const isVariable = (kind = "") => ["const", "globalVariable", "let", "var", "parameter"].includes(kind);

describe("versions of a module", () => {
  it("have the same facts as a module that is resolved from scratch", () => {
    const versionOf = versionsOf(source);
    let module = source.module;
    for (const [from, to] of [
      ["4", "7"],
      ["2", "3u"],
      ["1.5", "2.5f"],
      ["7", "4"],
    ] as const) {
      module = replaced(module, from, to);
      expect(facts(versionOf(module))).toEqual(facts(resolve(module)));
    }
    expect(facts(source)).toEqual(facts(resolve(source.module)));
  });

  it("update declarations that depend on a change", () => {
    const program = versionsOf(source)(replaced(source.module, "4", "7"));
    const row = named(program, "row");
    expect(row).toBe(named(source, "row"));
    if (row.kind !== "globalVariable") throw new Error("row is a variable");
    expect(describeType(program.declaredTypeOf(row))).toBe("array<u32, 7>");
    expect(describeType(source.declaredTypeOf(row))).toBe("array<u32, 4>");
  });

  it("notice a declaration that shadows a predeclared name", () => {
    const hiding = parse("fn min(a: f32) -> f32 { return a; }").module.declarations;
    const using = resolve(parse("fn f() -> f32 { return min(1, 2); }").module);
    const program = versionsOf(using)({
      ...using.module,
      declarations: [...using.module.declarations, ...hiding],
    });
    expect(program.diagnostics.map(({ message }) => message)).toEqual(["`min` takes 1 argument, found 2"]);
  });

  it("report errors in changed declarations", () => {
    const program = versionsOf(source)(replaced(source.module, "4", "true"));
    expect(program.diagnostics.length).toBeGreaterThan(0);
  });

  it("throw once there is a later one", () => {
    const versionOf = versionsOf(source);
    const first = versionOf(replaced(source.module, "4", "7"));
    versionOf(replaced(source.module, "4", "8"));
    const row = named(first, "row");
    if (row.kind !== "globalVariable") throw new Error("row is a variable");
    expect(() => first.declaredTypeOf(row)).toThrow("later version");
  });
});
