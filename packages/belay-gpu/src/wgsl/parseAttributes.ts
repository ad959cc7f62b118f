/** Parses attributes. Source: WGSL specification, "Attributes". */

import { syntaxError } from "../diagnostics/syntax.ts";
import type { Attribute } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { severities } from "./extensions.ts";
import { parseExpression, parseName } from "./parseExpressions.ts";

/** The number of arguments of each attribute, including Dawn's own attributes. */
const argumentCounts: ReadonlyMap<string, readonly [least: number, most: number]> = new Map([
  ["align", [1, 1]],
  ["binding", [1, 1]],
  ["blend_src", [1, 1]],
  ["builtin", [1, 2]],
  ["color", [1, 1]],
  ["compute", [0, 0]],
  ["const", [0, 0]],
  ["diagnostic", [2, 2]],
  ["fragment", [0, 0]],
  ["group", [1, 1]],
  ["id", [1, 1]],
  ["input_attachment_index", [1, 1]],
  ["interpolate", [1, 2]],
  ["invariant", [0, 0]],
  ["location", [1, 1]],
  ["must_use", [0, 0]],
  ["size", [1, 1]],
  ["subgroup_size", [1, 1]],
  ["vertex", [0, 0]],
  ["workgroup_size", [1, 3]],
]);

/** Parses all attributes at the cursor. */
export function parseAttributes(cursor: Cursor): Attribute[] {
  const attributes: Attribute[] = [];
  while (cursor.at("@")) attributes.push(parseAttribute(cursor));
  return attributes;
}

function parseAttribute(cursor: Cursor): Attribute {
  const { start } = cursor.take();
  const name = parseAttributeName(cursor);
  const hasArguments = cursor.accept("(");
  const isEnd = () => cursor.at(")");
  const args = hasArguments && !isEnd() ? cursor.list(isEnd, () => parseExpression(cursor)) : [];
  if (hasArguments) cursor.expect(")", "after the arguments of the attribute");
  const attribute: Attribute = { kind: "attribute", span: cursor.spanFrom(start), name, args };
  checkAttribute(cursor, attribute, hasArguments);
  return attribute;
}

/** Parses the name of an attribute. Two attributes are spelled like keywords. */
function parseAttributeName(cursor: Cursor): string {
  if (cursor.at("const", "diagnostic")) return cursor.take().kind;
  return parseName(cursor, "the name of an attribute").name;
}

function checkAttribute(cursor: Cursor, { name, args, span }: Attribute, hasArguments: boolean): void {
  const [least, most] = argumentCounts.get(name) ?? [];
  if (least === undefined || most === undefined) {
    cursor.report(syntaxError.unknownAttribute(name, span));
  } else if (args.length < least || args.length > most || hasArguments !== most > 0) {
    cursor.report(syntaxError.attributeArguments(name, least, most, span));
  } else if (name === "diagnostic") {
    const severity = cursor.textOf(args[0]!.span);
    if (!severities.has(severity)) cursor.report(syntaxError.unknownSeverity(severity, args[0]!.span));
  }
}
