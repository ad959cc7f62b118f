/**
 * Parses the rest of a declaration, after `var`, `let`, `const` or `override`. Source: WGSL
 * specification, "Variable and Value Declarations".
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { Expression, TypeExpression } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { parseExpression, parseName, parseQualifiers, parseType } from "./parseExpressions.ts";

interface TypedName {
  readonly name: string;
  readonly nameSpan: Span;
  readonly type: TypeExpression | null;
}

interface MaybeInitialized extends TypedName {
  readonly initializer: Expression | null;
}

/** Parses the rest of a `var`. */
export function parseVariable(cursor: Cursor): MaybeInitialized & { readonly qualifiers: Expression[] } {
  return { qualifiers: parseQualifiers(cursor), ...parseOptionalValue(cursor) };
}

/** Parses the rest of a `let` or `const`. */
export function parseValue(cursor: Cursor): TypedName & { readonly initializer: Expression } {
  const head = parseTypedName(cursor);
  cursor.expect("=", "and a value, which a `let` or `const` must have");
  return { ...head, initializer: parseExpression(cursor) };
}

/** Parses the rest of an `override`. */
export function parseOptionalValue(cursor: Cursor): MaybeInitialized {
  const head = parseTypedName(cursor);
  return { ...head, initializer: cursor.accept("=") ? parseExpression(cursor) : null };
}

function parseTypedName(cursor: Cursor): TypedName {
  const name = parseName(cursor, "a name to declare");
  return { ...name, type: cursor.accept(":") ? parseType(cursor) : null };
}
