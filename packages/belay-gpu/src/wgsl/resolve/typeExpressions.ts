/** Resolves type expressions. Source: WGSL specification, "Types". */

import type { Span } from "../../diagnostics/diagnostic.ts";
import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Expression, Identifier, TypeExpression } from "../ast.ts";
import { matrixType, sameType, scalarTypes, vectorType } from "../conversion.ts";
import { printExpression } from "../printer.ts";
import { isElement, isHandle, isInteger } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import {
  type AccessMode,
  type AddressSpace,
  i32Type,
  type ScalarName,
  type ScalarType,
  type SubgroupMatrixType,
  type Type,
  u32Type,
  type VectorType,
} from "../types.ts";
import { type Context, errorType } from "./context.ts";
import { checkEnumerant, defaultAccess } from "./enumerants.ts";
import { accessModes, addressSpaces, byteComponents, plainTypes, texelFormats } from "./predeclared.ts";

/** The deepest nesting of types that is accepted, so that later passes may recurse over types. */
const maxTypeDepth = 255;
const typeDepths = new WeakMap<Type, number>();

/** Resolves a type expression. An error is reported once and returns `errorType`. */
export function checkType(cx: Context, expression: TypeExpression): Type {
  let type = denotedType(cx, expression);
  if (type !== errorType && depthOf(type) > maxTypeDepth) {
    cx.report(resolutionError.tooLarge(`types nest deeper than ${maxTypeDepth} levels`, expression.span));
    type = errorType;
  }
  cx.denoted.set(expression, type);
  return type;
}

/**
 * Returns true for a type name without template list whose element type follows from the arguments.
 */
export function isInferring(callee: Identifier): boolean {
  return callee.templateArgs === null && /^(array|vec[234]|mat[234]x[234])$/.test(callee.name);
}

function denotedType(cx: Context, expression: TypeExpression): Type {
  const target = cx.targets.get(expression);
  switch (target?.kind) {
    case undefined:
      for (const arg of expression.templateArgs ?? []) checkTemplateArgument(cx, arg);
      return errorType;
    case "alias":
      return refuseTemplate(cx, expression) ?? cx.denoted.get(target.type) ?? errorType;
    case "struct":
      return refuseTemplate(cx, expression) ?? cx.structs.get(target) ?? errorType;
    case "builtin":
      if (target.category === "type") return predeclaredType(cx, expression);
  }
  cx.report(resolutionError.wrongKind(expression.name, "a type", expression.span));
  return errorType;
}

function refuseTemplate(cx: Context, expression: TypeExpression): Type | undefined {
  if (expression.templateArgs === null) return undefined;
  cx.report(resolutionError.noTemplate(expression.name, expression.span));
  return errorType;
}

/** Checks an argument of a template list in error, to report the errors inside it. */
function checkTemplateArgument(cx: Context, arg: Expression): void {
  const target = arg.kind === "identifier" ? cx.targets.get(arg) : undefined;
  if (arg.kind !== "identifier") cx.check(arg);
  else if (
    target?.kind === "builtin"
      ? target.category === "type"
      : target?.kind === "alias" || target?.kind === "struct"
  ) {
    checkType(cx, arg);
  }
}

function predeclaredType(cx: Context, expression: TypeExpression): Type {
  const { name } = expression;
  const plain = plainTypes.get(name);
  if (plain) return refuseTemplate(cx, expression) ?? plain;
  const args = expression.templateArgs ?? [];
  const [fewest, most] = argumentCounts(name);
  if (args.length < fewest || args.length > most) {
    for (const arg of args) checkTemplateArgument(cx, arg);
    cx.report(resolutionError.templateCount(name, fewest, most, args.length, expression.span));
    return errorType;
  }
  return new TypeGenerator(cx, expression.span, args).generate(name);
}

function argumentCounts(name: string): readonly [fewest: number, most: number] {
  if (name === "array") return [1, 2];
  if (name === "ptr") return [2, 3];
  if (name === "buffer") return [0, 1];
  if (name.startsWith("subgroup_matrix")) return [3, 3];
  return name === "binding_array" || isTexelStorage(name) ? [2, 2] : [1, 1];
}

/** Returns true for the types whose texels have a written format. */
const isTexelStorage = (name: string) => name.startsWith("texture_storage") || name === "texel_buffer";

/** Makes one type from a template list. */
class TypeGenerator {
  readonly #cx: Context;
  readonly #span: Span;
  readonly #args: readonly Expression[];

  constructor(cx: Context, span: Span, args: readonly Expression[]) {
    this.#cx = cx;
    this.#span = span;
    this.#args = args;
  }

  generate(name: string): Type {
    if (name.startsWith("vec")) {
      const element = this.#scalar("a vector component", ["bool", "i32", "u32", "f32", "f16"]);
      return element ? vectorType(Number(name[3]), element) : errorType;
    }
    if (name.startsWith("mat")) {
      const element = this.#scalar("a matrix component", ["f32", "f16"]);
      return element ? matrixType(Number(name[3]), Number(name[5]), element) : errorType;
    }
    if (isTexelStorage(name)) {
      const format = this.#enumerant(0, texelFormats, "a texel format");
      const access = this.#enumerant(1, accessModes, "an access mode") as AccessMode | undefined;
      return format && access ? { kind: "texture", name, format, access } : errorType;
    }
    if (name.startsWith("texture_")) {
      const sampled = this.#scalar("sampled from a texture", ["f32", "i32", "u32"]);
      return sampled ? { kind: "texture", name, sampled } : errorType;
    }
    if (name.startsWith("subgroup_matrix")) return this.#subgroupMatrix(name);
    switch (name) {
      case "atomic":
        return this.#atomic();
      case "binding_array":
        return this.#bindingArray();
      case "buffer":
        return this.#buffer();
      case "ptr":
        return this.#pointer();
      default:
        return this.#array();
    }
  }

  #type(index: number): Type {
    const arg = this.#args[index]!;
    if (arg.kind === "identifier") return checkType(this.#cx, arg);
    this.#cx.check(arg);
    this.#cx.report(resolutionError.badTemplateArgument("a type", undefined, arg.span));
    return errorType;
  }

  #scalar(use: string, allowed: readonly ScalarName[]): ScalarType | undefined {
    const type = this.#type(0);
    if (type.kind === "scalar" && allowed.includes(type.name)) return scalarTypes[type.name];
    this.#refuse(type, use);
    return undefined;
  }

  #atomic(): Type {
    const type = this.#type(0);
    if (type === i32Type || type === u32Type || sameType(type, vectorType(2, u32Type)))
      return { kind: "atomic", element: type as ScalarType | VectorType };
    return this.#refuse(type, "atomic");
  }

  #bindingArray(): Type {
    const element = this.#type(0);
    const count = this.#count(1);
    if (count === undefined || element === errorType) return errorType;
    return element.kind === "texture"
      ? { kind: "bindingArray", element, count }
      : this.#refuse(element, "bound as an array");
  }

  #buffer(): Type {
    const size = this.#args.length > 0 ? this.#count(0) : "runtime";
    return size === undefined ? errorType : { kind: "buffer", size };
  }

  #subgroupMatrix(name: string): Type {
    const component = componentName(this.#cx, this.#args[0]!);
    const [columns, rows] = [this.#count(1), this.#count(2)];
    if (component === undefined || columns === undefined || rows === undefined) return errorType;
    const side = name.slice("subgroup_matrix_".length) as SubgroupMatrixType["side"];
    return { kind: "subgroupMatrix", side, component, columns, rows };
  }

  /** Returns a size that must be constant. */
  #count(index: number): number | undefined {
    const count = arrayCount(this.#cx, this.#args[index]!);
    if (count !== "override") return count;
    const { span } = this.#args[index]!;
    this.#cx.report(resolutionError.notConstant("this size", "a const-expression", span));
    return undefined;
  }

  /** Reports that the first template argument, a type, cannot have this use. */
  #refuse(type: Type, use: string): Type {
    if (type !== errorType)
      this.#cx.report(resolutionError.invalidType(describeType(type), use, this.#args[0]!.span));
    return errorType;
  }

  #enumerant(index: number, words: ReadonlySet<string>, what: string): string | undefined {
    return checkEnumerant(this.#cx, this.#args[index]!, words, what);
  }

  #pointer(): Type {
    const space = this.#enumerant(0, addressSpaces, "an address space") as AddressSpace | undefined;
    const store = this.#type(1);
    const access = this.#args.length > 2 ? this.#enumerant(2, accessModes, "an access mode") : undefined;
    if (!space || store === errorType || (this.#args.length > 2 && !access)) return errorType;
    if (store.kind === "pointer" || isHandle(store)) {
      this.#cx.report(resolutionError.invalidType(describeType(store), "pointed to", this.#args[1]!.span));
      return errorType;
    }
    return {
      kind: "pointer",
      space,
      store,
      access: (access as AccessMode | undefined) ?? defaultAccess(space),
    };
  }

  #array(): Type {
    const element = this.#type(0);
    const countExpression = this.#args[1];
    const count = countExpression ? arrayCount(this.#cx, countExpression) : "runtime";
    if (element === errorType || count === undefined) return errorType;
    if (!isElement(element)) {
      this.#cx.report(
        resolutionError.invalidType(describeType(element), "an array element", this.#args[0]!.span),
      );
      return errorType;
    }
    if (count !== "override" || !countExpression) return { kind: "array", element, count };
    return { kind: "array", element, count, countText: printExpression(countExpression), countExpression };
  }
}

/** Returns the name of the component type of a subgroup matrix, or reports another expression. */
export function componentName(cx: Context, expression: Expression): string | undefined {
  const isByte = expression.kind === "identifier" && byteComponents.has(expression.name);
  if (isByte) return checkEnumerant(cx, expression, byteComponents, "the type of a component");
  const type = expression.kind === "identifier" ? checkType(cx, expression) : undefined;
  if (type === errorType) return undefined;
  if (type?.kind === "scalar" && type.name !== "bool") return type.name;
  cx.report(resolutionError.badTemplateArgument("the type of a component", undefined, expression.span));
  return undefined;
}

function depthOf(type: Type): number {
  if (type.kind !== "array" && type.kind !== "struct" && type.kind !== "pointer") return 1;
  let depth = typeDepths.get(type);
  if (depth === undefined) {
    const parts =
      type.kind === "struct"
        ? type.members.map((member) => member.type)
        : [type.kind === "array" ? type.element : type.store];
    depth = 1 + parts.reduce((deepest, part) => Math.max(deepest, depthOf(part)), 0);
    typeDepths.set(type, depth);
  }
  return depth;
}

/** Returns the number of elements of an array type, or undefined after an error. */
function arrayCount(cx: Context, expression: Expression): number | "override" | undefined {
  // The count is evaluated even if the expression around it is not, because a type depends on it.
  const wasEvaluating = cx.evaluating;
  cx.evaluating = true;
  const { type, stage } = cx.check(expression);
  const concrete = cx.materialize(expression);
  cx.evaluating = wasEvaluating;
  if (type === errorType) return undefined;
  if (!isInteger(concrete)) {
    cx.report(
      resolutionError.wrongType(
        "an element count of type `i32` or `u32`",
        describeType(concrete),
        expression.span,
      ),
    );
    return undefined;
  }
  if (stage === "override") return "override";
  if (stage === "runtime") {
    cx.report(
      resolutionError.notConstant(
        "an array's element count",
        "a const-expression or an override-expression",
        expression.span,
      ),
    );
    return undefined;
  }
  const value = cx.valueOf(expression);
  if (!value || !("value" in value)) {
    if (!cx.hasErrors)
      cx.report(resolutionError.tooLarge("this element count is too costly to evaluate", expression.span));
    return undefined;
  }
  if (Number(value.value) >= 1) return Number(value.value);
  cx.report(resolutionError.badTemplateArgument("a positive element count", undefined, expression.span));
  return undefined;
}
