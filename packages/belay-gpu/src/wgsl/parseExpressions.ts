/** Parses expressions and types. Source: WGSL specification, "Expression Grammar Summary". */
import type { Span } from "../diagnostics/diagnostic.ts";
import { syntaxError } from "../diagnostics/syntax.ts";
import type {
  BinaryExpression,
  BinaryOperator,
  Expression,
  Identifier,
  TypeExpression,
  UnaryOperator,
} from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { fitsLeft, fitsRight, isBinaryOperator, isUnaryOperator, rankOfOperator } from "./operators.ts";
import { children } from "./traverse.ts";

/** The height of a tree that Dawn accepts. A chain of operators is as high as it is long. */
const heightLimit = 512;

export function parseExpression(cursor: Cursor): Expression {
  return limitHeight(cursor, parseNested(cursor));
}

/** Parses a type: a name with an optional template list. */
export function parseType(cursor: Cursor): TypeExpression {
  return limitHeight(cursor, parseIdentifier(cursor, "a type"));
}

/**
 * Parses a unary expression: the target of an assignment operator, `++` or `--`, or a call
 * statement.
 */
export function parseTarget(cursor: Cursor): Expression {
  return limitHeight(cursor, parseUnary(cursor));
}

/** Parses the template list of a `var`; empty if it has none. */
export function parseQualifiers(cursor: Cursor): Expression[] {
  return (parseTemplateArguments(cursor) ?? []).map((each) => limitHeight(cursor, each));
}

/** Parses a declared name. `what` completes "expected …". */
export function parseName(cursor: Cursor, what: string): { name: string; nameSpan: Span } {
  if (!cursor.at("identifier")) cursor.failExpecting(what);
  const { start, end } = cursor.take();
  const nameSpan = { start, end };
  return { name: cursor.textOf(nameSpan), nameSpan };
}

function limitHeight<T extends Expression>(cursor: Cursor, expression: T): T {
  let level: readonly Expression[] = [expression];
  for (let height = 0; level.length > 0; height++) {
    if (height > heightLimit) cursor.fail(syntaxError.tooDeep("operators", heightLimit, expression.span));
    level = level.flatMap((each) => (each.kind === "literal" ? [] : (children(each) as Expression[])));
  }
  return expression;
}

function parseNested(cursor: Cursor): Expression {
  return cursor.nest("expressions", () => parseBinary(cursor, 0).expression);
}

interface Operand {
  readonly expression: Expression;
  readonly parenthesized: boolean;
}

/** Parses a chain of operators that bind at least as tight as `rank`. */
function parseBinary(cursor: Cursor, rank: number): Operand {
  const { start } = cursor.token;
  let left: Operand = { parenthesized: cursor.at("("), expression: parseUnary(cursor) };
  for (;;) {
    const operator = cursor.at("--") ? "-" : cursor.token.kind;
    if (!isBinaryOperator(operator) || rankOfOperator(operator) < rank) return left;
    const token = cursor.at("--") ? cursor.takeHalf() : cursor.take();
    const right = parseBinary(cursor, rankOfOperator(operator) + 1);
    if (!left.parenthesized && !fitsLeft(operator, left.expression)) {
      reportMixing(cursor, operatorOf(left.expression), operator, token);
    } else if (!right.parenthesized && !fitsRight(operator, right.expression)) {
      reportMixing(cursor, operator, operatorOf(right.expression), token);
    }
    const span = cursor.spanFrom(start);
    const expression: Expression = {
      kind: "binary",
      span,
      operator,
      left: left.expression,
      right: right.expression,
    };
    left = { parenthesized: false, expression };
  }
}

/** Returns the operator of an operand that needs parentheses, which only binary expressions do. */
function operatorOf(expression: Expression): BinaryOperator {
  return (expression as BinaryExpression).operator;
}

function reportMixing(
  cursor: Cursor,
  first: BinaryOperator,
  second: BinaryOperator,
  { start, end }: Span,
): void {
  cursor.report(syntaxError.mixedOperators(first, second, { start, end }));
}

function parseUnary(cursor: Cursor): Expression {
  const operators: { operator: UnaryOperator; start: number }[] = [];
  for (;;) {
    const operator = cursor.at("--") ? "-" : cursor.at("&&") ? "&" : cursor.token.kind;
    if (!isUnaryOperator(operator)) break;
    const { start } = cursor.at("--", "&&") ? cursor.takeHalf() : cursor.take();
    operators.push({ operator, start });
  }
  return operators.reduceRight<Expression>(
    (operand, { operator, start }) => ({ kind: "unary", span: cursor.spanFrom(start), operator, operand }),
    parseSingular(cursor),
  );
}

/** Parses a primary expression and the accesses that follow it. */
function parseSingular(cursor: Cursor): Expression {
  const { start } = cursor.token;
  let base = parsePrimary(cursor);
  for (;;) {
    if (cursor.accept("[")) {
      const index = parseNested(cursor);
      cursor.expect("]", "after the index");
      base = { kind: "index", span: cursor.spanFrom(start), base, index };
    } else if (cursor.accept(".")) {
      const { name: member } = parseName(cursor, "a member name");
      base = { kind: "memberAccess", span: cursor.spanFrom(start), base, member };
    } else {
      return base;
    }
  }
}

function parsePrimary(cursor: Cursor): Expression {
  const { start } = cursor.token;
  if (cursor.at("literal")) {
    const { end } = cursor.take();
    const span = { start, end };
    return { kind: "literal", span, text: cursor.textOf(span) };
  }
  if (cursor.accept("(")) {
    const expression = parseNested(cursor);
    cursor.expect(")", "after the expression");
    return expression;
  }
  const callee = parseIdentifier(cursor, "an expression");
  if (!cursor.at("(")) return callee;
  const args = parseArguments(cursor);
  return { kind: "call", span: cursor.spanFrom(start), callee, args };
}

function parseIdentifier(cursor: Cursor, what: string): Identifier {
  const { name, nameSpan } = parseName(cursor, what);
  const templateArgs = parseTemplateArguments(cursor);
  return { kind: "identifier", span: cursor.spanFrom(nameSpan.start), name, templateArgs };
}

/** Parses the template list at the cursor, or returns null if there is none. */
function parseTemplateArguments(cursor: Cursor): Expression[] | null {
  if (!cursor.accept("templateStart")) return null;
  const args = cursor.list(
    () => cursor.at("templateEnd"),
    () => parseNested(cursor),
  );
  cursor.expect("templateEnd", "after the template arguments");
  return args;
}

/** Parses zero or more expressions in parentheses. */
function parseArguments(cursor: Cursor): Expression[] {
  cursor.expect("(", "before the arguments");
  const isEnd = () => cursor.at(")");
  const args = isEnd() ? [] : cursor.list(isEnd, () => parseNested(cursor));
  cursor.expect(")", "after the arguments");
  return args;
}
