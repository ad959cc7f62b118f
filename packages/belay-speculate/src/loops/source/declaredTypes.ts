import type { Expression, Node, TSType } from "oxc-parser";
import type { ElementType } from "../tree/ir.ts";
import type { ParsedFile } from "./parse.ts";
import { type Binding, isFunction, lookUp, type Scope } from "./scopes.ts";

/** The type of a variable, as far as its declaration says. */
export type DeclaredType =
  | { readonly kind: "array"; readonly element: ElementType }
  | { readonly kind: "number" }
  | { readonly kind: "boolean" }
  /** A known type that a loop cannot use. */
  | { readonly kind: "other"; readonly name: string }
  | { readonly kind: "unknown" };

/** The typed arrays that a loop may access, by class. */
const elementTypes: Readonly<Record<string, ElementType>> = {
  Int8Array: "i8",
  Uint8Array: "u8",
  Uint8ClampedArray: "u8c",
  Int16Array: "i16",
  Uint16Array: "u16",
  Int32Array: "i32",
  Uint32Array: "u32",
  Float32Array: "f32",
  Float64Array: "f64",
};

export const classOf = (element: ElementType): string =>
  Object.keys(elementTypes).find((name) => elementTypes[name] === element)!;

const unknown: DeclaredType = { kind: "unknown" };
/** The longest chain of aliases and initializers that is followed. */
const farthest = 20;

/** Returns the type of a binding, from its annotation, its JSDoc comment, or its initializer. */
export function declaredType(binding: Binding, file: ParsedFile, distance = 0): DeclaredType {
  const { declaration, scope } = binding;
  if (binding.kind === "import" || binding.kind === "type" || distance > farthest) return unknown;
  if (binding.kind === "class" || binding.kind === "function") return { kind: "other", name: binding.kind };

  const [target, initializer] = targetOf(declaration);
  if (target?.type !== "Identifier") return unknown;
  const annotation = target.typeAnnotation;
  if (annotation) return typeOfAnnotation(annotation.typeAnnotation, scope, file, distance);
  const documented = jsDocType(binding, file);
  if (documented) return typeNamed(documented, scope);
  return initializer ? typeOfInitializer(initializer, scope, file, distance) : unknown;
}

/** Returns the pattern that a declaration binds, and its initial value. */
function targetOf(declaration: Node): [Node | undefined, Expression | null] {
  if (declaration.type === "VariableDeclarator") return [declaration.id, declaration.init];
  if (declaration.type === "AssignmentPattern") return [declaration.left, declaration.right];
  return [declaration, null];
}

/** Returns the type that an annotation says. */
export function typeOfAnnotation(
  type: TSType,
  scope: Scope,
  file: ParsedFile,
  distance: number,
): DeclaredType {
  switch (type.type) {
    case "TSNumberKeyword":
      return { kind: "number" };
    case "TSBooleanKeyword":
      return { kind: "boolean" };
    case "TSTypeReference": {
      if (type.typeName.type !== "Identifier") break;
      const alias = lookUp(scope, type.typeName.name);
      const [argument] = type.typeArguments?.params ?? [];
      if (!alias && type.typeName.name === "Readonly" && argument) {
        return typeOfAnnotation(argument, scope, file, distance + 1);
      }
      if (alias?.kind === "type" && alias.declaration.type === "TSTypeAliasDeclaration") {
        return distance > farthest
          ? unknown
          : typeOfAnnotation(alias.declaration.typeAnnotation, alias.scope, file, distance + 1);
      }
      return typeNamed(type.typeName.name, scope);
    }
    case "TSLiteralType":
      if (type.literal.type === "Literal" && typeof type.literal.value === "number")
        return { kind: "number" };
      break;
    case "TSAnyKeyword":
    case "TSUnknownKeyword":
      return unknown;
  }
  return { kind: "other", name: file.source.slice(type.start, type.end) };
}

function typeNamed(name: string, scope: Scope): DeclaredType {
  if (name === "number" || name === "boolean") return { kind: name };
  const element = Object.hasOwn(elementTypes, name) ? elementTypes[name] : undefined;
  return element && !lookUp(scope, name) ? { kind: "array", element } : { kind: "other", name };
}

/** Returns the type that the initial value of a variable says. */
export function typeOfInitializer(
  value: Expression,
  scope: Scope,
  file: ParsedFile,
  distance: number,
): DeclaredType {
  switch (value.type) {
    case "NewExpression":
      return value.callee.type === "Identifier" && /Array$/.test(value.callee.name)
        ? typeNamed(value.callee.name, scope)
        : unknown;
    case "CallExpression": {
      const { callee } = value;
      if (callee.type !== "MemberExpression" || callee.computed || callee.object.type !== "Identifier") break;
      if (callee.property.type !== "Identifier") break;
      if (["from", "of"].includes(callee.property.name)) return typeNamed(callee.object.name, scope);
      if (["slice", "subarray", "map", "fill"].includes(callee.property.name)) {
        return typeOfInitializer(callee.object, scope, file, distance);
      }
      if (callee.object.name === "Math" && !lookUp(scope, "Math")) return { kind: "number" };
      break;
    }
    case "Identifier": {
      const binding = lookUp(scope, value.name);
      return binding ? declaredType(binding, file, distance + 1) : unknown;
    }
    case "Literal":
      if (typeof value.value === "number" || typeof value.value === "boolean") {
        return { kind: typeof value.value as "number" | "boolean" };
      }
      return { kind: "other", name: typeof value.value };
    case "ArrayExpression":
      return { kind: "other", name: "array of objects" };
    case "UnaryExpression":
      if (value.operator === "-" || value.operator === "+" || value.operator === "~")
        return { kind: "number" };
      if (value.operator === "!") return { kind: "boolean" };
      break;
    case "BinaryExpression":
      if (["-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>", "**"].includes(value.operator)) {
        return { kind: "number" };
      }
      if (["<", ">", "<=", ">=", "==", "!=", "===", "!=="].includes(value.operator))
        return { kind: "boolean" };
      break;
    case "MemberExpression":
      if (!value.computed && value.property.type === "Identifier" && value.property.name === "length") {
        return { kind: "number" };
      }
  }
  return unknown;
}

/**
 * Returns the type in `@param {T} name` before the function, or in `@type {T}` before the variable.
 */
function jsDocType({ declaration, name, scope, kind }: Binding, file: ParsedFile): string | undefined {
  const documented = kind === "parameter" ? scope.node : declaration;
  const comment = file.comments.findLast(({ end }) => end <= documented.start);
  if (comment?.type !== "Block" || !comment.value.startsWith("*")) return undefined;
  const between = file.source.slice(comment.end, documented.start);
  const adjacent = isFunction(documented)
    ? /^\s*(export\s+(default\s+)?)?(async\s+)?((const|let|var)\s+[\w$]+\s*=\s*(async\s*)?)?$/
    : /^\s*(export\s+)?(const|let|var)\s*$/;
  if (!adjacent.test(between)) return undefined;
  const text = comment.value;
  if (kind !== "parameter") return /@type\s*\{\s*([\w$]+)\s*\}/.exec(text)?.[1];
  for (const [, type, parameter] of text.matchAll(/@param\s*\{\s*([\w$]+)\s*\}\s*\[?([\w$]+)/g)) {
    if (parameter === name) return type;
  }
  return undefined;
}

export function withoutTypes(node: Expression): Expression {
  return node.type === "TSNonNullExpression" ||
    node.type === "TSAsExpression" ||
    node.type === "TSSatisfiesExpression" ||
    node.type === "TSTypeAssertion"
    ? withoutTypes(node.expression)
    : node;
}
