/** The WGSL front end by itself: parsing, printing, names, types and constants. */

export type { Diagnostic, Severity, Span } from "../diagnostics/diagnostic.ts";
export type * from "./ast.ts";
export { parse, parseDeclarations, parseExpression, parseStatements } from "./parser.ts";
export { print, printDeclaration, printExpression, printStatement, printType } from "./printer.ts";
export type * from "./program.ts";
export { describeType, isSpellable, resolve, sameType, typeExpressionOf } from "./resolve/index.ts";
export {
  type AnyNode,
  children,
  isExpression,
  mapChildren,
  mapExpression,
  mapExpressions,
  mapStatements,
  walk,
} from "./traverse.ts";
export type * from "./types.ts";
export type * from "./values.ts";
