import type { Attribute } from "../wgsl/ast.ts";

/**
 * The built-in value that a parameter or a member with these attributes is: `name` in
 * `@builtin(name)`; empty for none.
 */
export function builtinOf(attributes: readonly Attribute[]): string {
  const argument = attributes.find(({ name }) => name === "builtin")?.args[0];
  return argument?.kind === "identifier" ? argument.name : "";
}
