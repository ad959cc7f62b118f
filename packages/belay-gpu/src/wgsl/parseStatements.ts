/** Parses statements. Source: WGSL specification, "Statements Grammar Summary". */
import { syntaxError } from "../diagnostics/syntax.ts";
import type {
  Attribute,
  Block,
  Expression,
  ForStatement,
  IfStatement,
  LoopStatement,
  Statement,
  SwitchClause,
  SwitchStatement,
} from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import type { TokenKind } from "./lexer.ts";
import { parseAttributes } from "./parseAttributes.ts";
import { parseExpression } from "./parseExpressions.ts";
import { parseLocal, parseSimpleStatement, parseUpdateOrCall } from "./parseSimpleStatements.ts";

/**
 * The keywords that stand only at module scope. A block that contains one lacks its closing brace.
 */
const moduleKeywords: readonly TokenKind[] = ["fn", "struct", "override", "alias"];

const statementKeywords: readonly TokenKind[] = [
  "let",
  "var",
  "const",
  "const_assert",
  "if",
  "switch",
  "loop",
  "for",
  "while",
  "break",
  "continue",
  "continuing",
  "discard",
  "return",
];

export function parseBlock(cursor: Cursor, where: string): Block {
  const { start } = cursor.token;
  const attributes = parseAttributes(cursor);
  const statements = parseBraced(cursor, where, () => parseStatements(cursor));
  return { kind: "block", span: cursor.spanFrom(start), attributes, statements };
}

/**
 * Parses statements up to a closing brace, the end of the source, or the place where `stop` is
 * true.
 */
export function parseStatements(cursor: Cursor, stop: () => boolean = () => false): Statement[] {
  const statements: Statement[] = [];
  while (!cursor.at("}", "end", ...moduleKeywords) && !stop()) {
    if (cursor.accept(";")) continue;
    const statement = cursor.attempt(
      () => parseStatement(cursor),
      () => skipStatement(cursor),
    );
    if (statement !== undefined) statements.push(statement);
  }
  return statements;
}

function parseBraced<T>(cursor: Cursor, where: string, parse: () => T): T {
  return cursor.nest("statements", () => {
    cursor.expect("{", where);
    const content = parse();
    if (!cursor.at("}")) cursor.reportExpecting("`}` at the end of the block");
    while (!cursor.at("}", "end", ...moduleKeywords)) cursor.skip();
    cursor.accept("}");
    return content;
  });
}

/** Skips to the end of a broken statement, or to the start of the next one. */
function skipStatement(cursor: Cursor): void {
  while (!cursor.at("}", "end", ...moduleKeywords, ...statementKeywords)) {
    if (cursor.accept(";")) return;
    if (cursor.accept("else")) cursor.accept("if");
    else cursor.skip();
  }
}

function parseStatement(cursor: Cursor): Statement {
  const { start } = cursor.token;
  const attributes = parseAttributes(cursor);
  const attributed = parseAttributedStatement(cursor, attributes, start);
  if (attributed !== null) return attributed;
  if (attributes.length > 0) {
    cursor.report(syntaxError.misplacedAttribute("this kind of statement", attributes[0]!.span));
  }
  const statement = parseSimpleStatement(cursor);
  if (!cursor.accept(";")) {
    cursor.reportExpecting("`;` after the statement");
    skipStatement(cursor);
  }
  return statement;
}

/**
 * Parses a statement that contains blocks, or returns null for any other. Only such a statement may
 * have attributes, and it ends without a semicolon.
 */
function parseAttributedStatement(
  cursor: Cursor,
  attributes: readonly Attribute[],
  start: number,
): Statement | null {
  switch (cursor.token.kind) {
    case "{": {
      const { statements } = parseBlock(cursor, "");
      return { kind: "block", span: cursor.spanFrom(start), attributes, statements };
    }
    case "if":
      return parseIf(cursor, attributes, start);
    case "switch":
      return parseSwitch(cursor, attributes, start);
    case "loop":
      return parseLoop(cursor, attributes, start);
    case "for":
      return parseFor(cursor, attributes, start);
    case "while": {
      cursor.take();
      const condition = parseExpression(cursor);
      const body = parseBlock(cursor, "after the condition");
      return { kind: "while", span: cursor.spanFrom(start), attributes, condition, body };
    }
    default:
      return null;
  }
}

function parseIf(cursor: Cursor, attributes: readonly Attribute[], start: number): IfStatement {
  cursor.take();
  const condition = parseExpression(cursor);
  const then = parseBlock(cursor, "after the condition");
  const otherwise = cursor.at("else") ? parseElse(cursor) : null;
  return { kind: "if", span: cursor.spanFrom(start), attributes, condition, then, otherwise };
}

function parseElse(cursor: Cursor): IfStatement | Block {
  return cursor.nest("statements", () => {
    cursor.take();
    if (cursor.at("if")) return parseIf(cursor, [], cursor.token.start);
    return parseBlock(cursor, "or `if` after `else`");
  });
}

function parseSwitch(cursor: Cursor, attributes: readonly Attribute[], start: number): SwitchStatement {
  cursor.take();
  const selector = parseExpression(cursor);
  const bodyAttributes = parseAttributes(cursor);
  const clauses = parseBraced(cursor, "before the clauses", () => {
    const parsed = [parseClause(cursor)];
    while (!cursor.at("}", "end", ...moduleKeywords)) parsed.push(parseClause(cursor));
    return parsed;
  });
  return { kind: "switch", span: cursor.spanFrom(start), attributes, selector, bodyAttributes, clauses };
}

function parseClause(cursor: Cursor): SwitchClause {
  const { start } = cursor.token;
  const selectors = parseSelectors(cursor);
  cursor.accept(":");
  const body = parseBlock(cursor, "before the statements of the clause");
  return { kind: "clause", span: cursor.spanFrom(start), selectors, body };
}

function parseSelectors(cursor: Cursor): SwitchClause["selectors"] {
  if (cursor.accept("default")) return ["default"];
  if (!cursor.accept("case")) return cursor.failExpecting("`case` or `default`");
  return cursor.list(
    () => cursor.at(":", "{", "@"),
    () => (cursor.accept("default") ? "default" : parseExpression(cursor)),
  );
}

function parseLoop(cursor: Cursor, attributes: readonly Attribute[], start: number): LoopStatement {
  cursor.take();
  const bodyStart = cursor.token.start;
  const bodyAttributes = parseAttributes(cursor);
  let continuing: Block | null = null;
  let breakIf: Expression | null = null;
  const statements = parseBraced(cursor, "before the body of the loop", () => {
    const parsed = parseStatements(cursor, () => cursor.at("continuing"));
    if (cursor.accept("continuing")) ({ continuing, breakIf } = parseContinuing(cursor));
    return parsed;
  });
  const span = cursor.spanFrom(bodyStart);
  const body: Block = { kind: "block", span, attributes: bodyAttributes, statements };
  return { kind: "loop", span: cursor.spanFrom(start), attributes, body, continuing, breakIf };
}

function parseContinuing(cursor: Cursor): { continuing: Block; breakIf: Expression | null } {
  const { start } = cursor.token;
  const attributes = parseAttributes(cursor);
  let breakIf: Expression | null = null;
  const statements = parseBraced(cursor, "after `continuing`", () => {
    const atBreakIf = () => cursor.at("break") && cursor.next.kind === "if";
    const parsed = parseStatements(cursor, atBreakIf);
    if (atBreakIf()) {
      cursor.take();
      cursor.take();
      breakIf = parseExpression(cursor);
      cursor.expect(";", "after the condition");
    }
    return parsed;
  });
  return { continuing: { kind: "block", span: cursor.spanFrom(start), attributes, statements }, breakIf };
}

function parseFor(cursor: Cursor, attributes: readonly Attribute[], start: number): ForStatement {
  cursor.take();
  cursor.expect("(", "after `for`");
  const initializer = cursor.at(";") ? null : (parseLocal(cursor) ?? parseUpdateOrCall(cursor));
  cursor.expect(";", "after the initializer");
  const condition = cursor.at(";") ? null : parseExpression(cursor);
  cursor.expect(";", "after the condition");
  const update = cursor.at(")") ? null : parseUpdateOrCall(cursor);
  cursor.expect(")", "at the end of the loop header");
  const body = parseBlock(cursor, "before the body of the loop");
  return { kind: "for", span: cursor.spanFrom(start), attributes, initializer, condition, update, body };
}
