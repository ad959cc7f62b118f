import type { Attribute } from "../wgsl/ast.ts";

/**
 * Returns the name of the built-in value that a parameter or member with these attributes has:
 * `name` in `@builtin(name)`. Empty if it has none.
 */
export function builtinValueOf(attributes: readonly Attribute[]): string {
  const argument = attributes.find(({ name }) => name === "builtin")?.args[0];
  return argument?.kind === "identifier" ? argument.name : "";
}
