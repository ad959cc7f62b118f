/**
 * Parses directives and module-scope declarations. Source: WGSL specification, "Directives" and
 * "Declaration and Scope".
 */

import { syntaxError } from "../diagnostics/syntax.ts";
import type {
  Attribute,
  Declaration,
  Directive,
  FunctionDeclaration,
  Parameter,
  StructDeclaration,
  StructMember,
} from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { enableExtensions, languageFeatures, severities } from "./extensions.ts";
import type { TokenKind } from "./lexer.ts";
import { parseAttributes } from "./parseAttributes.ts";
import { parseExpression, parseName, parseType } from "./parseExpressions.ts";
import { parseBlock } from "./parseStatements.ts";
import { parseOptionalValue, parseValue, parseVariable } from "./parseVariables.ts";

const directiveKeywords: readonly TokenKind[] = ["enable", "requires", "diagnostic"];

const declarationStarts: readonly TokenKind[] = [
  ...directiveKeywords,
  "@",
  "fn",
  "struct",
  "override",
  "alias",
  "var",
  "const",
  "const_assert",
];

/** Parses all directives, which come first, and then all declarations. */
export function parseModuleItems(cursor: Cursor): { directives: Directive[]; declarations: Declaration[] } {
  const directives: Directive[] = [];
  const declarations: Declaration[] = [];
  let directivesAreOver = false;
  const parseItem = () => {
    if (!cursor.at(...directiveKeywords)) {
      directivesAreOver = true;
      declarations.push(parseDeclaration(cursor));
      return;
    }
    const directive = parseDirective(cursor);
    directives.push(directive);
    if (directivesAreOver) {
      cursor.report(syntaxError.misplaced("a directive", "before all declarations", directive.span));
    }
  };
  while (!cursor.at("end")) {
    if (cursor.accept(";")) directivesAreOver = true;
    else cursor.attempt(parseItem, () => skipDeclaration(cursor));
  }
  return { directives, declarations };
}

/** Skips to the end of a broken declaration, or to the start of the next one. */
function skipDeclaration(cursor: Cursor): void {
  while (!cursor.at("end", ...declarationStarts) && !cursor.accept(";")) cursor.skip();
}

function parseDirective(cursor: Cursor): Directive {
  const { kind, start } = cursor.take();
  if (kind === "diagnostic") return parseDiagnosticFilter(cursor, start);
  const isEnable = kind === "enable";
  const known = isEnable ? enableExtensions : languageFeatures;
  const names = cursor.list(
    () => cursor.at(";"),
    () => {
      const { name, nameSpan } = parseName(cursor, "the name of an extension");
      if (!known.has(name)) cursor.report(syntaxError.unknownExtension(name, kind, known, nameSpan));
      return name;
    },
  );
  cursor.expect(";", "after the directive");
  return { kind: isEnable ? "enable" : "requires", span: cursor.spanFrom(start), names };
}

function parseDiagnosticFilter(cursor: Cursor, start: number): Directive {
  cursor.expect("(", "after `diagnostic`");
  const { name: severity, nameSpan } = parseName(cursor, "a severity");
  if (!severities.has(severity)) cursor.report(syntaxError.unknownSeverity(severity, nameSpan));
  cursor.expect(",", "after the severity");
  const names = [parseName(cursor, "the name of a rule").name];
  if (cursor.accept(".")) names.push(parseName(cursor, "the name of a rule").name);
  cursor.accept(",");
  cursor.expect(")", "after the name of the rule");
  cursor.expect(";", "after the directive");
  return { kind: "diagnostic", span: cursor.spanFrom(start), severity, rule: names.join(".") };
}

function parseDeclaration(cursor: Cursor): Declaration {
  const { start } = cursor.token;
  const attributes = parseAttributes(cursor);
  switch (cursor.token.kind) {
    case "fn":
      return parseFunction(cursor, attributes, start);
    case "var": {
      cursor.take();
      const variable = parseVariable(cursor);
      cursor.expect(";", "after the declaration");
      return { kind: "globalVariable", span: cursor.spanFrom(start), attributes, ...variable };
    }
    case "override": {
      cursor.take();
      const value = parseOptionalValue(cursor);
      cursor.expect(";", "after the declaration");
      return { kind: "override", span: cursor.spanFrom(start), attributes, ...value };
    }
    default:
      if (attributes.length > 0) {
        cursor.report(syntaxError.misplacedAttribute("this kind of declaration", attributes[0]!.span));
      }
      return parsePlainDeclaration(cursor, start);
  }
}

/** Parses a declaration without attributes. */
function parsePlainDeclaration(cursor: Cursor, start: number): Declaration {
  switch (cursor.token.kind) {
    case "const": {
      cursor.take();
      const value = parseValue(cursor);
      cursor.expect(";", "after the declaration");
      return { kind: "const", span: cursor.spanFrom(start), ...value };
    }
    case "alias": {
      cursor.take();
      const name = parseName(cursor, "the name of the alias");
      cursor.expect("=", "after the name of the alias");
      const type = parseType(cursor);
      cursor.expect(";", "after the declaration");
      return { kind: "alias", span: cursor.spanFrom(start), ...name, type };
    }
    case "const_assert": {
      cursor.take();
      const condition = parseExpression(cursor);
      cursor.expect(";", "after the assertion");
      return { kind: "constAssert", span: cursor.spanFrom(start), condition };
    }
    case "struct":
      return parseStruct(cursor, start);
    case "identifier": {
      const span = cursor.spanOfToken();
      return cursor.fail(syntaxError.unknownDirective(cursor.textOf(span), span));
    }
    default:
      return cursor.failExpecting("a declaration");
  }
}

function parseStruct(cursor: Cursor, start: number): StructDeclaration {
  cursor.take();
  const name = parseName(cursor, "the name of the structure");
  cursor.expect("{", "before the members");
  const members = cursor.list(
    () => cursor.at("}"),
    (): StructMember => ({ kind: "member", ...parseAttributedName(cursor, "the name of a member") }),
  );
  cursor.expect("}", "after the members");
  return { kind: "struct", span: cursor.spanFrom(start), ...name, members };
}

function parseFunction(cursor: Cursor, attributes: readonly Attribute[], start: number): FunctionDeclaration {
  cursor.take();
  const name = parseName(cursor, "the name of the function");
  cursor.expect("(", "before the parameters");
  const isEnd = () => cursor.at(")");
  const parameter = (): Parameter => ({
    kind: "parameter",
    ...parseAttributedName(cursor, "the name of a parameter"),
  });
  const parameters = isEnd() ? [] : cursor.list(isEnd, parameter);
  cursor.expect(")", "after the parameters");
  const returns = cursor.accept("->");
  const returnAttributes = returns ? parseAttributes(cursor) : [];
  const returnType = returns ? parseType(cursor) : null;
  const body = parseBlock(cursor, "before the body of the function");
  const span = cursor.spanFrom(start);
  return { kind: "function", span, ...name, attributes, parameters, returnAttributes, returnType, body };
}

/** Parses a struct member or a parameter: attributes, a name, and a type. */
function parseAttributedName(cursor: Cursor, what: string): Omit<Parameter, "kind"> {
  const { start } = cursor.token;
  const attributes = parseAttributes(cursor);
  const name = parseName(cursor, what);
  cursor.expect(":", "and a type");
  const type = parseType(cursor);
  return { span: cursor.spanFrom(start), attributes, ...name, type };
}
