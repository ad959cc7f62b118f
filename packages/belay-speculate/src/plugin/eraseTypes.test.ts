import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { eraseTypes } from "./eraseTypes.ts";

/**
 * Prints a program in a normal form, without parentheses and without the additions of a compiler.
 */
function printed(javascript: string): string {
  const file = ts.createSourceFile("a.js", javascript, ts.ScriptTarget.ES2023, false, ts.ScriptKind.JS);
  expect((file as unknown as { parseDiagnostics: unknown[] }).parseDiagnostics).toEqual([]);
  const { transformed } = ts.transform(file, [
    (context) => {
      const visit = (node: ts.Node): ts.Node =>
        ts.isParenthesizedExpression(node) ? visit(node.expression) : ts.visitEachChild(node, visit, context);
      return (node) => ts.visitEachChild(node, visit, context);
    },
  ]);
  const text = ts.createPrinter({ removeComments: true }).printFile(transformed[0]!);
  return text
    .replace(/^("use strict"|export \{\}|\s*);$/gm, "")
    .replace(/, \}/g, " }")
    .replace(/\n+/g, "\n")
    .trim();
}

function compiled(source: string): string {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    useDefineForClassFields: true,
    removeComments: true,
  };
  return printed(ts.transpileModule(source, { compilerOptions }).outputText);
}

describe("eraseTypes", () => {
  it.each([
    "let a: number = 1, b!: string;",
    "function f(this: Window, a?: number, ...rest: string[]): asserts a is number { return a!; }",
    "const g = <T,>(x: T): T => x as unknown as T satisfies T;",
    "interface A { a: number }\ntype B = A | { b: string };\nexport type { B };\nexport interface C {}",
    "import type { A } from 'a'; import { b, type C, d } from 'b'; import { type E } from 'e';",
    "abstract class A<T> extends B<T> implements C, D { private readonly a?: number = 1; declare b: string; static override c: T; constructor(x: T); constructor(x: any) { super(); } m?(): void; abstract n(): void }",
    "abstract class A { abstract a: number; protected abstract get b(): string; public c() {} [key: string]: unknown }",
    "declare const x: number; declare module 'y' {} declare function z(): void;\nexport declare class W {}",
    "let a = f<number>(1), b = new Map<string, number>(), c = x!.y![0]!;",
    "const f = async (a: number): Promise<void> => {}; for (const x of y as number[]) {}",
    "let x = y ? (z) : w, o = { a: 1, b(c: number): void {} };",
    "function over(a: string): void;\nfunction over(a: any) {}",
  ])("leaves the JavaScript of %j", (source) => {
    const erased = eraseTypes(source, "a.ts");
    expect(erased.length).toBe(source.length);
    expect(printed(erased)).toBe(compiled(source));
  });

  it("leaves the JavaScript of Belay itself, at its place", () => {
    const folder = resolve(import.meta.dirname, "..");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /^loops.*\.ts$/.test(name),
    );
    for (const name of files) {
      const source = readFileSync(join(folder, name), "utf8");
      const erased = eraseTypes(source, name);
      expect(erased.split("\n").length).toBe(source.split("\n").length);
      expect(printed(erased)).toBe(compiled(source));
    }
  });

  it.each([
    ["enum A { B }", "a.ts:1:1: "],
    ["class A { constructor(private x: number) {} }", "a.ts:1:31: "],
    ["namespace A { export const b = 1 }", "a.ts:1:1: "],
    ["let x;\nlet = ;", "a.ts:2:7: "],
  ])("throws a SyntaxError with the place for %j", (source, place) => {
    const erase = () => eraseTypes(source, "a.ts");
    expect(erase).toThrow(SyntaxError);
    expect(erase).toThrow(place);
  });
});
