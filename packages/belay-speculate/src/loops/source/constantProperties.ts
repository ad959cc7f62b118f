import type { Expression, Node, TSEnumDeclaration } from "oxc-parser";
import type { ParsedFile } from "./parse.ts";
import { type Binding, lookUp, type Scope } from "./scopes.ts";

/** Returns the number or boolean that a name, or a property of an object, always has. */
type NamedConstants = (name: string, property?: string) => number | boolean | undefined;

/** The longest chain of constants that is followed. */
const farthest = 20;

/** Returns the number or boolean that a constant always has, as far as its declaration says. */
export function constantValue(
  { kind, declaration, scope }: Binding,
  file: ParsedFile,
  distance = 0,
): number | boolean | undefined {
  if (kind !== "const" || declaration.type !== "VariableDeclarator" || declaration.id.type !== "Identifier")
    return undefined;
  return declaration.init ? constantOf(declaration.init, constantsIn(scope, file, distance)) : undefined;
}

/** Returns the constants that a scope sees, with those of `Math` and `Number`. */
function constantsIn(scope: Scope, file: ParsedFile, distance: number): NamedConstants {
  return (name, property) => {
    const binding = lookUp(scope, name);
    if (!binding) {
      const global = { Math, Number }[name as "Math"];
      const value = property === undefined ? undefined : global?.[property as "PI"];
      return typeof value === "number" ? value : undefined;
    }
    if (distance > farthest) return undefined;
    const followed = file.follow(binding);
    return property === undefined
      ? constantValue(followed, file, distance + 1)
      : constantProperty(followed, property, file, distance + 1);
  };
}

/**
 * Returns the number or boolean that a property of an enum, or of an object declared with
 * `as const`, always has; undefined if there is no such property.
 */
export function constantProperty(
  binding: Binding | undefined,
  name: string,
  file: ParsedFile,
  distance = 0,
): number | boolean | undefined {
  if (!binding) return undefined;
  const { declaration } = binding;
  const constants = constantsIn(binding.scope, file, distance);
  if (declaration.type === "TSEnumDeclaration") return valueOfMember(declaration, name, constants);
  if (binding.kind !== "const" || declaration.type !== "VariableDeclarator") return undefined;
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
    ? constantOf(found.value, constants)
    : undefined;
}

function valueOfMember(
  { id: self, body }: TSEnumDeclaration,
  name: string,
  constants: NamedConstants,
): number | undefined {
  const values = new Map<string, number | undefined>();
  const named: NamedConstants = (other, property) => {
    if (property !== undefined)
      return other === self.name ? values.get(property) : constants(other, property);
    return values.has(other) ? values.get(other) : constants(other);
  };
  let next: number | undefined = 0;
  for (const { id, initializer } of body.members) {
    const value: number | boolean | undefined = initializer ? constantOf(initializer, named) : next;
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
export function constantOf(node: Expression, named: NamedConstants): number | boolean | undefined {
  const numberOf = (part: Expression) => {
    const value = constantOf(part, named);
    return typeof value === "number" ? value : undefined;
  };
  switch (node.type) {
    case "Literal":
      return typeof node.value === "number" || typeof node.value === "boolean" ? node.value : undefined;
    case "Identifier":
      return named(node.name);
    case "MemberExpression":
      return !node.computed && node.object.type === "Identifier" && node.property.type === "Identifier"
        ? named(node.object.name, node.property.name)
        : undefined;
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
      return constantOf(node.expression, named);
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
        "/": left / right,
        "%": left % right,
        "<<": left << right,
        ">>": left >> right,
        ">>>": left >>> right,
        "|": left | right,
        "&": left & right,
        "^": left ^ right,
      }[node.operator as "+"];
    }
    default:
      return undefined;
  }
}
