import type { Expression, Node, TSEnumDeclaration } from "oxc-parser";
import type { Binding } from "./scopes.ts";

/**
 * Returns the number or boolean that a property of an enum, or of an object declared with
 * `as const`, always has; undefined if there is no such property.
 */
export function constantProperty(binding: Binding | undefined, name: string): number | boolean | undefined {
  const declaration = binding?.declaration;
  if (declaration?.type === "TSEnumDeclaration") return valueOfMember(declaration, name);
  if (binding?.kind !== "const" || declaration?.type !== "VariableDeclarator") return undefined;
  const { init } = declaration;
  const isConstant =
    init?.type === "TSAsExpression" &&
    init.typeAnnotation.type === "TSTypeReference" &&
    init.typeAnnotation.typeName.type === "Identifier" &&
    init.typeAnnotation.typeName.name === "const";
  if (!isConstant || init.expression.type !== "ObjectExpression") return undefined;
  const { properties } = init.expression;
  // A spread, or a computed name, may set any property.
  if (properties.some((one) => one.type !== "Property" || one.computed)) return undefined;
  const found = properties.findLast((one) => one.type === "Property" && keyOf(one.key) === name);
  return found?.type === "Property" && found.kind === "init" && !found.method
    ? constantOf(found.value, () => undefined)
    : undefined;
}

function valueOfMember({ body }: TSEnumDeclaration, name: string): number | undefined {
  const values = new Map<string, number | undefined>();
  let next: number | undefined = 0;
  for (const { id, initializer } of body.members) {
    const value: number | boolean | undefined = initializer
      ? constantOf(initializer, (other) => values.get(other))
      : next;
    const number: number | undefined = typeof value === "number" ? value : undefined;
    next = number === undefined ? undefined : number + 1;
    const key = keyOf(id);
    if (key !== undefined) values.set(key, number);
  }
  return values.get(name);
}

function keyOf(key: Node): string | undefined {
  if (key.type === "Identifier") return key.name;
  return key.type === "Literal" ? String(key.value) : undefined;
}

/** Returns the value of an expression of literals and of names with a known value. */
export function constantOf(
  node: Expression,
  named: (name: string) => number | undefined,
): number | boolean | undefined {
  const numberOf = (part: Expression) => {
    const value = constantOf(part, named);
    return typeof value === "number" ? value : undefined;
  };
  switch (node.type) {
    case "Literal":
      return typeof node.value === "number" || typeof node.value === "boolean" ? node.value : undefined;
    case "Identifier":
      return named(node.name);
    case "UnaryExpression": {
      const value = numberOf(node.argument);
      if (value === undefined) return undefined;
      return { "-": -value, "+": value, "~": ~value }[node.operator as "-"];
    }
    case "BinaryExpression": {
      const [left, right] = [numberOf(node.left as Expression), numberOf(node.right)];
      if (left === undefined || right === undefined) return undefined;
      return {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "<<": left << right,
        "|": left | right,
        "&": left & right,
      }[node.operator as "+"];
    }
    default:
      return undefined;
  }
}
