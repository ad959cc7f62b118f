/** The WGSL front end, on its own: parsing, printing, and the shape of the tree. */

export type * from "./ast.ts";
export { parse, parseDeclarations, parseExpression, parseStatements } from "./parser.ts";
export { print, printDeclaration, printExpression, printStatement, printType } from "./printer.ts";
export { type Hole, type Quote, quote } from "./quote.ts";
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
