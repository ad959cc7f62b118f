/**
 * Evaluates constants, by pure functions from values to values. Source: WGSL specification,
 * "`const` Expressions".
 */
export { foldIndex, foldMember } from "./access.ts";
export { foldBinary, foldUnary } from "./arithmetic.ts";
export { foldBuiltin } from "./builtins/index.ts";
export { foldConstructor, zeroValue } from "./constructors.ts";
export { convert } from "./conversions.ts";
export type { Folded } from "./folded.ts";
export { parseLiteral } from "./literals.ts";
