/**
 * Constant evaluation (specification section "`const` Expressions"): pure functions from values to
 * values.
 */
export { foldIndex, foldMember } from "./access.ts";
export { foldBinary, foldUnary } from "./arithmetic.ts";
export { foldBuiltin } from "./builtins/index.ts";
export { foldConstructor, zeroValue } from "./constructors.ts";
export { convert } from "./conversions.ts";
export type { Folded } from "./folded.ts";
export { parseLiteral } from "./literals.ts";
