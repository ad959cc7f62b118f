/**
 * Checks enumerants, the words that stand in place of expressions: address spaces, access modes,
 * texel formats.
 */
import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Expression } from "../ast.ts";
import type { AccessMode, AddressSpace } from "../types.ts";
import type { Context } from "./context.ts";
import { similarName } from "./suggest.ts";

/**
 * Returns the name of the enumerant that `expression` is, or reports that it is none of `words`.
 */
export function checkEnumerant(
  cx: Context,
  expression: Expression,
  words: ReadonlySet<string>,
  what: string,
): string | undefined {
  if (expression.kind !== "identifier") {
    cx.check(expression);
    cx.report(resolutionError.badTemplateArgument(what, undefined, expression.span));
    return undefined;
  }
  const target = cx.targets.get(expression);
  if (target?.kind === "builtin" && words.has(expression.name) && expression.templateArgs === null) {
    return expression.name;
  }
  const similar = similarName(expression.name, words);
  if (target) {
    const help = similar === expression.name ? undefined : similar;
    cx.report(resolutionError.badTemplateArgument(what, help, expression.span));
  }
  return undefined;
}

/**
 * Returns the access mode of a memory view without a written one. Source: WGSL specification,
 * "Address Spaces".
 */
export function defaultAccess(space: AddressSpace): AccessMode {
  return space === "function" || space === "private" || space === "workgroup" ? "read_write" : "read";
}
