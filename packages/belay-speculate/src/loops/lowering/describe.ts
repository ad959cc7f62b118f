import type { Expression as Source } from "oxc-parser";

const names: Readonly<Record<string, string>> = {
  ArrowFunctionExpression: "a function",
  FunctionExpression: "a function",
  ClassExpression: "a class",
  ObjectExpression: "an object",
  ArrayExpression: "an array that the loop makes",
  AwaitExpression: "`await`",
  YieldExpression: "`yield`",
  NewExpression: "an object that the loop makes",
  TemplateLiteral: "a string",
  TaggedTemplateExpression: "a string",
  ThisExpression: "`this`",
  Super: "`super`",
  ChainExpression: "an optional access",
  ImportExpression: "an import",
  MetaProperty: "`import.meta`",
};

/** What an expression is, for people. */
export function describe(node: Source): string {
  if (node.type === "Literal") {
    if (node.value === null) return "`null`";
    return { string: "a string", bigint: "a bigint", object: "a regular expression" }[
      typeof node.value as "string"
    ];
  }
  return names[node.type] ?? "this expression";
}
