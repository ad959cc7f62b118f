import type { Class, Expression, Node, TSType } from "oxc-parser";
import { type DeclaredType, typeOfAnnotation, typeOfInitializer } from "./declaredTypes.ts";
import type { ParsedFile } from "./parse.ts";
import { type Binding, everyNode, type Scope, type Scopes } from "./scopes.ts";

/** A property of an object that a variable or `this` holds: `options.gain`, `this.cells`. */
export interface PropertyPath {
  /** The name of the variable; null for `this`. */
  readonly root: string | null;
  readonly names: readonly string[];
}

/** Returns the path that an expression is; undefined for other expressions. */
export function propertyPath(node: Node): PropertyPath | undefined {
  switch (node.type) {
    case "TSNonNullExpression":
    case "TSAsExpression":
      return propertyPath(node.expression);
    case "Identifier":
      return { root: node.name, names: [] };
    case "ThisExpression":
      return { root: null, names: [] };
    case "MemberExpression": {
      if (node.computed || node.optional) return undefined;
      const object = propertyPath(node.object);
      const { property } = node;
      const name =
        property.type === "PrivateIdentifier" ? `#${property.name}` : (property as { name: string }).name;
      return object && { root: object.root, names: [...object.names, name] };
    }
    default:
      return undefined;
  }
}

/** The declaration of an object: its type, its initial value, or its class. */
type Declared = TSType | Expression | Class;

/** Returns the type of a property, as far as the file says. */
export function typeOfPath(
  { root, names }: PropertyPath,
  binding: Binding | undefined,
  scope: Scope,
  file: ParsedFile,
  scopes: Scopes,
): DeclaredType {
  let declared: Declared | undefined = root === null ? classAround(scope) : declarationOf(binding);
  for (const [at, name] of names.entries()) {
    const member = declared && memberOf(declared, name, file, scopes);
    if (!member) break;
    if (at < names.length - 1) {
      declared = member.annotation ?? member.value;
      continue;
    }
    if (member.annotation) return typeOfAnnotation(member.annotation, scope, file, 0);
    if (member.value) return typeOfInitializer(member.value, scope, file, 0);
  }
  return { kind: "unknown" };
}

function classAround(scope: Scope | undefined): Class | undefined {
  for (let at = scope; at; at = at.parent) {
    if (at.node.type === "ClassDeclaration" || at.node.type === "ClassExpression") return at.node;
  }
  return undefined;
}

function declarationOf(binding: Binding | undefined): Declared | undefined {
  if (!binding) return undefined;
  const { declaration } = binding;
  const [target, value] =
    declaration.type === "VariableDeclarator" ? [declaration.id, declaration.init] : [declaration, null];
  const annotation = target.type === "Identifier" ? target.typeAnnotation?.typeAnnotation : undefined;
  return annotation ?? value ?? undefined;
}

interface Member {
  readonly annotation: TSType | undefined;
  readonly value: Expression | undefined;
}

function memberOf(declared: Declared, name: string, file: ParsedFile, scopes: Scopes): Member | undefined {
  for (const one of membersOf(declared, file, scopes)) {
    if (!("key" in one) || keyOf(one.key as Node) !== name) continue;
    if ("computed" in one && one.computed) continue;
    const typed = "typeAnnotation" in one ? (one.typeAnnotation as { typeAnnotation: TSType } | null) : null;
    const value = one.type === "Property" || one.type === "PropertyDefinition" ? one.value : undefined;
    return { annotation: typed?.typeAnnotation, value: (value as Expression | null) ?? undefined };
  }
  return undefined;
}

function membersOf(declared: Declared, file: ParsedFile, scopes: Scopes): readonly Node[] {
  switch (declared.type) {
    case "TSTypeLiteral":
      return declared.members;
    case "ObjectExpression":
      return declared.properties;
    case "ClassDeclaration":
    case "ClassExpression":
      return declared.body.body;
    case "NewExpression":
      return declared.callee.type === "Identifier" ? membersOfType(declared.callee.name, file, scopes) : [];
    case "TSTypeReference": {
      const [argument] = declared.typeArguments?.params ?? [];
      if (declared.typeName.type !== "Identifier") return [];
      const { name } = declared.typeName;
      if (name === "Readonly" && argument) return membersOf(argument, file, scopes);
      return membersOfType(name, file, scopes);
    }
    default:
      return [];
  }
}

function membersOfType(name: string, file: ParsedFile, scopes: Scopes): readonly Node[] {
  for (const [node] of everyNode(file.program, scopes)) {
    if (!("id" in node) || (node.id as Node | null)?.type !== "Identifier") continue;
    if ((node.id as unknown as { name: string }).name !== name) continue;
    if (node.type === "TSInterfaceDeclaration") return node.body.body;
    if (node.type === "TSTypeAliasDeclaration") {
      return node.typeAnnotation.type === "TSTypeLiteral" ? node.typeAnnotation.members : [];
    }
    if (node.type === "ClassDeclaration") return node.body.body;
  }
  return [];
}

function keyOf(key: Node): string | undefined {
  if (key.type === "Identifier") return key.name;
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Literal" ? String(key.value) : undefined;
}
