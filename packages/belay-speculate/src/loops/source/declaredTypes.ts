import type { ArrayExpression, CallExpression, Expression, Node, TSType, TSTypeName } from "oxc-parser";
import type { ElementType } from "../tree/ir.ts";
import { constantOf } from "./constantProperties.ts";
import type { ParsedFile } from "./parse.ts";
import { type Binding, isFunction, lookUp, type Scope } from "./scopes.ts";

/** The type of a variable, as far as its declaration says. */
export type DeclaredType =
  | {
      readonly kind: "array";
      readonly element: ElementType;
      /** The value of the program whose elements the host copies to a typed array. */
      readonly copied?: "numbers" | "text";
    }
  | { readonly kind: "number" }
  | { readonly kind: "boolean" }
  | OtherType
  | { readonly kind: "unknown" };

/** A known type that is no number and no array of numbers. */
export interface OtherType {
  readonly kind: "other";
  readonly name: string;
  /** The type of the elements, if they are arrays or objects. */
  readonly elements?: DeclaredType;
  /** The type or the value that declares the properties, if it is one of objects. */
  readonly object?: { readonly node: Node; readonly scope: Scope };
}

/**
 * A plain array of numbers, a string, which is an array of its code units, or typed arrays in an
 * array.
 */
export type CopiedValue = "numbers" | "text" | "typed";

/** The typed arrays that a loop may access, by class. */
export const elementTypes: Readonly<Record<string, ElementType>> = {
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
/** A plain array of doubles, or of integers of 32 bits if its initial elements are such. */
const plainArray = (element: "f64" | "i32"): DeclaredType => ({ kind: "array", element, copied: "numbers" });
const text: DeclaredType = { kind: "array", element: "u16", copied: "text" };
/** The longest chain of aliases and initializers that is followed. */
const farthest = 20;

/** Returns the type of a binding, from its annotation, its JSDoc comment, or its initializer. */
export function declaredType(binding: Binding, file: ParsedFile, distance = 0): DeclaredType {
  const { declaration, scope } = binding;
  if (binding.kind === "import" || binding.kind === "type" || distance > farthest) return unknown;
  if (binding.kind === "class" || binding.kind === "function") return { kind: "other", name: binding.kind };

  const [target, initializer] = targetOf(declaration);
  if (target.type !== "Identifier") return unknown;
  const annotation = target.typeAnnotation;
  if (annotation) {
    const type = typeOfAnnotation(annotation.typeAnnotation, scope, file, distance);
    const isPlain = type.kind === "array" && type.copied === "numbers";
    return isPlain && initializer?.type === "ArrayExpression" ? ofElements(initializer, scope) : type;
  }
  const documented = jsDocType(binding, file);
  if (documented) return typeNamed(documented, scope);
  return initializer ? typeOfInitializer(initializer, scope, file, distance) : unknown;
}

/** Returns the pattern that a declaration binds, and its initial value. */
export function targetOf(declaration: Node): [Node, Expression | null] {
  if (declaration.type === "TSParameterProperty") return targetOf(declaration.parameter);
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
    case "TSStringKeyword":
      return text;
    case "TSArrayType":
      if (isNumber(type.elementType, scope, file, distance)) return plainArray("f64");
      return arrayOfRows(type.elementType, file.source.slice(type.start, type.end), scope, file, distance);
    case "TSTupleType":
      if (type.elementTypes.every((one) => isNumber(one as TSType, scope, file, distance)))
        return plainArray("f64");
      break;
    case "TSTypeOperator":
      if (type.operator === "readonly") return typeOfAnnotation(type.typeAnnotation, scope, file, distance);
      break;
    case "TSTypeReference": {
      const alias = bindingOfType(type.typeName, scope, file);
      if (alias?.declaration.type === "TSTypeAliasDeclaration") {
        return distance > farthest
          ? unknown
          : typeOfAnnotation(alias.declaration.typeAnnotation, alias.scope, file, distance + 1);
      }
      if (alias?.declaration.type === "TSEnumDeclaration") return { kind: "number" };
      if (type.typeName.type !== "Identifier") break;
      const [argument] = type.typeArguments?.params ?? [];
      if (!alias && type.typeName.name === "Readonly" && argument) {
        return typeOfAnnotation(argument, scope, file, distance + 1);
      }
      if (!alias && /^(Readonly)?Array$/.test(type.typeName.name) && argument) {
        if (isNumber(argument, scope, file, distance)) return plainArray("f64");
        return arrayOfRows(argument, file.source.slice(type.start, type.end), scope, file, distance);
      }
      const named = typeNamed(type.typeName.name, scope);
      return named.kind === "other" ? { ...named, object: { node: type, scope } } : named;
    }
    case "TSLiteralType":
      if (type.literal.type === "Literal" && typeof type.literal.value === "number")
        return { kind: "number" };
      break;
    case "TSAnyKeyword":
    case "TSUnknownKeyword":
      return unknown;
  }
  return { kind: "other", name: file.source.slice(type.start, type.end), object: { node: type, scope } };
}

/** Returns the declaration of a type's name, also in a namespace; undefined if there is none. */
export function bindingOfType(name: TSTypeName, scope: Scope, file: ParsedFile): Binding | undefined {
  if (name.type === "ThisExpression") return undefined;
  if (name.type === "TSQualifiedName") {
    const namespace = bindingOfType(name.left, scope, file);
    return namespace && file.memberOf(namespace, name.right.name);
  }
  const named = lookUp(scope, name.name);
  return named && file.follow(named);
}

/** Returns the type of an array whose elements have this type, which is no number. */
function arrayOfRows(
  type: TSType,
  name: string,
  scope: Scope,
  file: ParsedFile,
  distance: number,
): DeclaredType {
  return { kind: "other", name, ...holding(typeOfAnnotation(type, scope, file, distance + 1)) };
}

/** Returns the elements of an array of arrays or objects. A loop cannot use strings in arrays. */
const holding = (elements: DeclaredType): Pick<OtherType, "elements"> =>
  (elements.kind === "array" && elements.copied !== "text") || elements.kind === "other" ? { elements } : {};

const isNumber = (type: TSType, scope: Scope, file: ParsedFile, distance: number) =>
  typeOfAnnotation(type, scope, file, distance + 1).kind === "number";

function typeNamed(name: string, scope: Scope): DeclaredType {
  const rows = /^(.+\[\]|[\w$]+Array)\[\]$/.exec(name)?.[1];
  if (rows) return { kind: "other", name, ...holding(typeNamed(rows, scope)) };
  if (name === "number" || name === "boolean") return { kind: name };
  if (name === "string") return text;
  if (/^(number\[\]|((Readonly)?Array(<number>)?))$/.test(name) && !lookUp(scope, "Array"))
    return plainArray("f64");
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
    case "TSAsExpression":
    case "TSSatisfiesExpression":
      return typeOfInitializer(value.expression, scope, file, distance);
    case "NewExpression":
      return value.callee.type === "Identifier" && /Array$/.test(value.callee.name)
        ? typeNamed(value.callee.name, scope)
        : unknown;
    case "CallExpression": {
      const { callee } = value;
      const frozen = frozenBy(value);
      if (frozen) return typeOfInitializer(frozen, scope, file, distance);
      if (callee.type === "Identifier" && callee.name === "Array") return typeNamed("Array", scope);
      const made = callee.type === "MemberExpression" && isMaking(callee.object) ? callee.object : undefined;
      if (made && nameOfProperty(callee) === "fill") return typeOfInitializer(made, scope, file, distance);
      if (callee.type !== "MemberExpression" || callee.computed || callee.object.type !== "Identifier") break;
      if (callee.property.type !== "Identifier") break;
      if (["from", "of"].includes(callee.property.name))
        return madeOfRows(value, scope, file, distance) ?? typeNamed(callee.object.name, scope);
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
      return typeof value.value === "string" ? text : { kind: "other", name: typeof value.value };
    case "TemplateLiteral":
      return text;
    case "ArrayExpression":
      return ofElements(value, scope);
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

/** Returns the type of `Array.from(data, () => row)`; undefined for other calls. */
function madeOfRows(
  { arguments: [, make] }: CallExpression,
  scope: Scope,
  file: ParsedFile,
  distance: number,
): DeclaredType | undefined {
  if (make?.type !== "ArrowFunctionExpression") return undefined;
  const body = withoutTypes(make.body as Expression);
  const elements =
    body.type === "ObjectExpression"
      ? objectAt(body, scope)
      : typeOfInitializer(body, scope, file, distance + 1);
  const held = holding(elements);
  return held.elements && { kind: "other", name: "array of arrays or objects", ...held };
}

const objectAt = (node: Node, scope: Scope): OtherType => ({
  kind: "other",
  name: "object",
  object: { node, scope },
});

/** Returns the object that a call of `Object.freeze` returns; undefined for other calls. */
export function frozenBy({ callee, arguments: [frozen] }: CallExpression): Expression | undefined {
  if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return undefined;
  const isFreezing = callee.object.name === "Object" && nameOfProperty(callee) === "freeze";
  return isFreezing && frozen?.type !== "SpreadElement" ? frozen : undefined;
}

/** Returns true for an expression that makes an array, as `new Array(n)` and `Array(n)` do. */
const isMaking = (node: Node) => node.type === "NewExpression" || node.type === "CallExpression";

const nameOfProperty = (node: Node) =>
  node.type === "MemberExpression" && !node.computed ? (node.property as { name: string }).name : undefined;

/** Returns the type of a plain array with these elements at first, also of rows or objects. */
function ofElements({ elements }: ArrayExpression, scope: Scope): DeclaredType {
  const values = elements.map((one) => one && constantOf(one as Expression, () => undefined));
  const isOther = (node: Node | null) =>
    node === null || ["ObjectExpression", "ArrayExpression", "SpreadElement"].includes(node.type);
  const [first] = elements;
  if (first && elements.every((one) => one?.type === "ObjectExpression"))
    return { kind: "other", name: "array of objects", elements: objectAt(first, scope) };
  const rows = elements.map((one) => (one?.type === "ArrayExpression" ? ofElements(one, scope) : undefined));
  const row = rows.find((one) => one?.kind !== "array" || one.element !== "i32") ?? rows[0];
  if (row && rows.every((one) => one?.kind === row.kind))
    return { kind: "other", name: "array of arrays", ...holding(row) };
  if (elements.some((one, at) => isOther(one) || typeof values[at] === "boolean"))
    return { kind: "other", name: "array of objects" };
  const areIntegers = values.length > 0 && values.every((value) => Object.is(Number(value) | 0, value));
  return plainArray(areIntegers ? "i32" : "f64");
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
  if (kind !== "parameter") return /@type\s*\{\s*([\w$]+(?:(?:\[\])+|<\w+>)?)\s*\}/.exec(text)?.[1];
  for (const [, type, parameter] of text.matchAll(
    /@param\s*\{\s*([\w$]+(?:(?:\[\])+|<\w+>)?)\s*\}\s*\[?([\w$]+)/g,
  )) {
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
