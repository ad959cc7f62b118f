import { describe, expect, test } from "vitest";
import type { Diagnostic } from "./diagnostic.ts";
import { lineAndColumn, renderDiagnostic } from "./render.ts";

const at = (start: number, end: number, more: Partial<Diagnostic> = {}): Diagnostic => ({
  code: "BELAY005",
  severity: "error",
  message: "expected something else",
  span: { start, end },
  notes: [],
  ...more,
});

const render = (source: string, marked: string, more?: Partial<Diagnostic>) => {
  const start = source.indexOf(marked);
  return renderDiagnostic(at(start, start + marked.length, more), source, { file: "k.wgsl" });
};

describe("renderDiagnostic", () => {
  test("shows the line and underlines the span, notes and help below", () => {
    expect(render("fn f() {\n  let a = b;\n}", "b", { notes: ["a fact"], help: "an action" })).toBe(
      [
        "error[BELAY005 unexpected-token]: expected something else",
        " --> k.wgsl:2:11",
        "  |",
        "2 |   let a = b;",
        "  |           ^",
        "  = note: a fact",
        "  = help: an action",
      ].join("\n"),
    );
  });

  test("aligns the carets behind tabs and hides control characters", () => {
    expect(render("\t\u001b[31mx = yy;", "yy").split("\n").slice(3)).toEqual([
      "1 |     \ufffd[31mx = yy;",
      "  |              ^^",
    ]);
  });

  test("shows the first and the last line of a long span", () => {
    expect(render("a\nb {\n1\n2\n} c", "{\n1\n2\n}").split("\n").slice(2)).toEqual([
      "  |",
      "2 | b {",
      "  |   ^",
      "...",
      "5 | } c",
      "  | ^",
    ]);
  });

  test("clips a wide line around the span", () => {
    const [, , , line, carets] = render(`${"a".repeat(500)}here${"b".repeat(500)}`, "here").split("\n");
    expect(line!.length).toBeLessThan(120);
    expect(line!.slice(carets!.indexOf("^"), carets!.lastIndexOf("^") + 1)).toBe("here");
  });

  test("has a frame for an empty source and for a span outside the source", () => {
    for (const [source, start] of [
      ["", 0],
      ["x", 7],
      ["x\n", 2],
    ] as const) {
      expect(renderDiagnostic(at(start, start + 3), source)).toContain("^");
    }
  });

  test("uses colors only on demand", () => {
    expect(renderDiagnostic(at(0, 1), "x", { color: true })).toContain("\u001b[31m");
    expect(renderDiagnostic(at(0, 1), "x")).not.toContain("\u001b");
  });
});

test("lineAndColumn counts every line break of the language, and code points", () => {
  const source = "a\r\nb\u0085c\u2028\u{1F600}d";
  expect(lineAndColumn(source, source.indexOf("b"))).toEqual({ line: 2, column: 1 });
  expect(lineAndColumn(source, source.indexOf("c"))).toEqual({ line: 3, column: 1 });
  expect(lineAndColumn(source, source.indexOf("d"))).toEqual({ line: 4, column: 2 });
  expect(lineAndColumn(source, source.length)).toEqual({ line: 4, column: 3 });
});
