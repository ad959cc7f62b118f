/** Resolves the names, types and constants of a module. */
export { sameType } from "../conversion.ts";
export { describeType, isSpellable, typeExpressionOf } from "../typeNames.ts";
export { resolve, versionsOf } from "./resolve.ts";
