/**
 * Parses whole sources and pieces of them. No input makes these functions throw or run endlessly.
 */
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { syntaxError } from "../diagnostics/syntax.ts";
import type { Declaration, Expression, Module, Statement } from "./ast.ts";
import { Cursor, mostErrors } from "./cursor.ts";
import { parseModuleItems } from "./parseDeclarations.ts";
import { parseExpression as parseExpressionAt } from "./parseExpressions.ts";
import { parseStatements as parseStatementsAt } from "./parseStatements.ts";

/**
 * Parses a WGSL module. If there are errors, the module holds the declarations and statements that
 * could be parsed. Source: WGSL specification, "Parsing".
 */
export function parse(source: string): { module: Module; diagnostics: Diagnostic[] } {
  const cursor = new Cursor(source);
  const items = parseModuleItems(cursor);
  const span = { start: 0, end: source.length };
  return { module: { kind: "module", span, ...items }, diagnostics: firstErrors(cursor) };
}

/** Parses one expression or type; null if it is broken. */
export function parseExpression(source: string): {
  expression: Expression | null;
  diagnostics: Diagnostic[];
} {
  const cursor = new Cursor(source);
  const expression = cursor.attempt(
    () => parseExpressionAt(cursor),
    () => {},
  );
  expectEnd(cursor);
  return { expression: expression ?? null, diagnostics: firstErrors(cursor) };
}

/** Parses the statements of a function body. */
export function parseStatements(source: string): { statements: Statement[]; diagnostics: Diagnostic[] } {
  const cursor = new Cursor(source);
  const statements = parseStatementsAt(cursor);
  expectEnd(cursor);
  return { statements, diagnostics: firstErrors(cursor) };
}

/** Parses the declarations of a module, without directives. */
export function parseDeclarations(source: string): {
  declarations: Declaration[];
  diagnostics: Diagnostic[];
} {
  const cursor = new Cursor(source);
  const { directives, declarations } = parseModuleItems(cursor);
  for (const { span } of directives)
    cursor.report(syntaxError.misplaced("a directive", "at the start of a module", span));
  return { declarations, diagnostics: firstErrors(cursor) };
}

function expectEnd(cursor: Cursor): void {
  cursor.attempt(
    () => (cursor.at("end") ? undefined : cursor.failExpecting("nothing more here")),
    () => {},
  );
}

function firstErrors(cursor: Cursor): Diagnostic[] {
  const inOrder = cursor.diagnostics.sort((a, b) => a.span.start - b.span.start);
  if (inOrder.length <= mostErrors) return inOrder;
  return [...inOrder.slice(0, mostErrors), syntaxError.tooManyErrors(mostErrors, inOrder[mostErrors]!.span)];
}
