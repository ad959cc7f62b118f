/** Parses statements without blocks, which also stand in the headers of loops. */
import type { Span } from "../diagnostics/diagnostic.ts";
import { syntaxError } from "../diagnostics/syntax.ts";
import type {
  Assignment,
  CallStatement,
  ConstDeclaration,
  Expression,
  Increment,
  LetStatement,
  Statement,
  VarStatement,
} from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { isAssignmentOperator } from "./operators.ts";
import { parseExpression, parseTarget } from "./parseExpressions.ts";
import { parseValue, parseVariable } from "./parseVariables.ts";

/** Parses a statement that ends with a semicolon, without the semicolon. */
export function parseSimpleStatement(cursor: Cursor): Statement {
  const { kind, start } = cursor.token;
  switch (kind) {
    case "const_assert":
      cursor.take();
      return { kind: "constAssert", condition: parseExpression(cursor), span: cursor.spanFrom(start) };
    case "break":
      cursor.take();
      if (cursor.accept("if")) {
        parseExpression(cursor);
        cursor.report(
          syntaxError.misplaced("`break if`", "at the end of a `continuing` block", cursor.spanFrom(start)),
        );
      }
      return { kind, span: cursor.spanFrom(start) };
    case "continue":
    case "discard":
      cursor.take();
      return { kind, span: cursor.spanFrom(start) };
    case "return": {
      cursor.take();
      const value = cursor.at(";") ? null : parseExpression(cursor);
      return { kind, span: cursor.spanFrom(start), value };
    }
    case "continuing":
      return cursor.fail(
        syntaxError.misplaced("`continuing`", "at the end of a `loop` body", cursor.spanOfToken()),
      );
    case "case":
    case "default":
      return cursor.fail(
        syntaxError.misplaced(`\`${kind}\``, "directly in a `switch` body", cursor.spanOfToken()),
      );
    case "else":
      return cursor.fail(syntaxError.misplaced("`else`", "after the block of an `if`", cursor.spanOfToken()));
    default:
      return parseLocal(cursor) ?? parseUpdateOrCall(cursor);
  }
}

/** Parses `let`, `var` or `const` without the semicolon, or returns null if none starts here. */
export function parseLocal(cursor: Cursor): LetStatement | VarStatement | ConstDeclaration | null {
  const { kind, start } = cursor.token;
  if (kind !== "let" && kind !== "const" && kind !== "var") return null;
  cursor.take();
  if (kind === "var") return { kind, ...parseVariable(cursor), span: cursor.spanFrom(start) };
  return { kind, ...parseValue(cursor), span: cursor.spanFrom(start) };
}

/** Parses an assignment, an increment or a call without the semicolon. */
export function parseUpdateOrCall(cursor: Cursor): Assignment | Increment | CallStatement {
  const first = cursor.token;
  if (cursor.accept("_")) {
    cursor.expect("=", "after `_`");
    const value = parseExpression(cursor);
    return { kind: "assign", span: cursor.spanFrom(first.start), operator: "=", target: null, value };
  }
  if (!cursor.at("identifier", "(", "*", "&", "&&")) cursor.failExpecting("a statement");
  const target = parseTarget(cursor);
  const targetSpan = cursor.spanFrom(first.start);
  const { kind: operator } = cursor.token;
  if (isAssignmentOperator(operator)) {
    checkAssignable(cursor, target, targetSpan);
    cursor.take();
    const value = parseExpression(cursor);
    return { kind: "assign", span: cursor.spanFrom(first.start), operator, target, value };
  }
  if (operator === "++" || operator === "--") {
    checkAssignable(cursor, target, targetSpan);
    cursor.take();
    return { kind: "increment", span: cursor.spanFrom(first.start), operator, target };
  }
  if (target.kind === "call" && first.kind === "identifier") {
    return { kind: "callStatement", span: target.span, call: target };
  }
  return cursor.failExpecting("`=`, another assignment operator, `++` or `--`");
}

/** Reports a target that the grammar of `lhs_expression` does not allow. */
function checkAssignable(cursor: Cursor, target: Expression, span: Span): void {
  let place = target;
  for (;;) {
    if (place.kind === "index" || place.kind === "memberAccess") place = place.base;
    else if (place.kind === "unary" && (place.operator === "*" || place.operator === "&"))
      place = place.operand;
    else break;
  }
  const isRoot = place.kind === "call" || (place.kind === "identifier" && place.templateArgs === null);
  if (!isRoot) cursor.report(syntaxError.notAssignable(span));
}
