/** Checks value constructors. Source: WGSL specification, "Constructor Built-in Functions". */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { CallExpression, Expression } from "../ast.ts";
import { foldConstructor } from "../constants/index.ts";
import { commonType, conversionRank, matrixType, vectorType } from "../conversion.ts";
import { elementScalar, hasConstants, isConstructible } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import type { ArrayType, MatrixType, ScalarType, Type, VectorType } from "../types.ts";
import { abstractFloatType, abstractIntType } from "../types.ts";
import {
  type Context,
  type ExpressionFacts,
  errorFacts,
  errorType,
  latestStage,
  runtime,
} from "./context.ts";
import { evaluated } from "./overloads.ts";

/** Checks `T(args)` for a type that is written in full. The arguments are checked already. */
export function checkConstructor(cx: Context, call: CallExpression, type: Type): ExpressionFacts {
  const { args, callee } = call;
  if (type === errorType) return errorFacts;
  if (!isConstructible(type)) {
    cx.report(resolutionError.invalidType(describeType(type), "constructed", callee.span));
    return errorFacts;
  }
  const types = args.map((arg) => cx.loadedType(arg));
  if (args.length > 0 && !types.includes(errorType) && !convertArguments(cx, call, type, types)) {
    return { type, stage: "const", value: undefined };
  }
  return constructed(cx, call, type);
}

function constructed(cx: Context, call: CallExpression, type: Type): ExpressionFacts {
  if (!hasConstants(type)) return runtime(type);
  const stage = latestStage(call.args.map((arg) => cx.stageOf(arg)));
  return evaluated(cx, call, type, stage, call.args, (values) => foldConstructor(type, values));
}

/**
 * Converts the arguments to the parameters of one of the type's constructors, or reports that none
 * takes them.
 */
function convertArguments(cx: Context, call: CallExpression, type: Type, types: readonly Type[]): boolean {
  const { args } = call;
  if (type.kind === "struct" || type.kind === "array") {
    const parameters =
      type.kind === "struct" ? type.members.map((member) => member.type) : arrayParameters(type, args);
    if (args.length === parameters.length) {
      cx.convertAll(args, types, parameters);
      return true;
    }
    cx.report(resolutionError.argumentCount(call.callee.name, countOf(type), args.length, call.span));
    return false;
  }
  const parameters = numericParameters(type, types);
  if (!parameters || !types.every((from, i) => Number.isFinite(conversionRank(from, parameters[i]!)))) {
    cx.report(resolutionError.cannotConstruct(describeType(type), types.map(describeType), call.span));
    return false;
  }
  cx.convertAll(args, types, parameters);
  return true;
}

function countOf(type: Type): number {
  if (type.kind === "struct") return type.members.length;
  return type.kind === "array" && typeof type.count === "number" ? type.count : 0;
}

function arrayParameters(type: ArrayType, args: readonly Expression[]): readonly Type[] {
  return type.count === args.length ? args.map(() => type.element) : [];
}

/**
 * Returns the parameter types of a scalar's, vector's or matrix's constructor for arguments of the
 * given types. An argument of the same shape is converted explicitly and keeps its type.
 */
function numericParameters(type: Type, types: readonly Type[]): readonly Type[] | undefined {
  const only = types.length === 1 ? types[0]! : undefined;
  switch (type.kind) {
    case "scalar":
      return only?.kind === "scalar" ? [only] : undefined;
    case "subgroupMatrix":
      return only?.kind === "scalar" ? [only] : undefined;
    case "vector":
      if (only?.kind === "scalar") return [type.element];
      if (only?.kind === "vector" && only.size === type.size) return [only];
      return componentCount(types) === type.size
        ? types.map((from) => vectorPart(from, type.element))
        : undefined;
    case "matrix":
      if (only?.kind === "matrix" && only.columns === type.columns && only.rows === type.rows) return [only];
      return matrixParts(type, types);
    default:
      return undefined;
  }
}

/** Returns the number of components of scalars and vectors together; NaN for any other type. */
function componentCount(types: readonly Type[]): number {
  const size = (type: Type): number =>
    type.kind === "vector" ? type.size : type.kind === "scalar" ? 1 : Number.NaN;
  return types.reduce((sum, type) => sum + size(type), 0);
}

function vectorPart(from: Type, element: ScalarType): Type {
  return from.kind === "vector" ? vectorType(from.size, element) : element;
}

/** Returns the parameter types of a matrix constructor: its columns, or all its components. */
function matrixParts(type: MatrixType, types: readonly Type[]): readonly Type[] | undefined {
  const column = vectorType(type.rows, type.element);
  if (types.length === type.columns && types.every(({ kind }) => kind === "vector"))
    return types.map(() => column);
  if (types.length === type.columns * type.rows) return types.map(() => type.element);
  return undefined;
}

/**
 * Checks a constructor whose element type follows from its arguments: `vec3(1, 2, x)`, `array(a,
 * b)`.
 */
export function checkInferredConstructor(cx: Context, call: CallExpression): ExpressionFacts {
  const types = call.args.map((arg) => cx.loadedType(arg));
  if (types.includes(errorType)) return errorFacts;
  const type = inferredType(call.callee.name, types);
  if (!type) {
    cx.report(resolutionError.noOverload(call.callee.name, types.map(describeType), [], call.span));
    return errorFacts;
  }
  return checkConstructor(cx, call, type);
}

function inferredType(name: string, types: readonly Type[]): Type | undefined {
  if (name === "array") {
    const element = commonType(types);
    return element && isConstructible(element) ? { kind: "array", element, count: types.length } : undefined;
  }
  const elements = types.map(elementScalar);
  const element = elements.length === 0 ? abstractIntType : commonScalar(elements);
  if (!element) return undefined;
  if (name.startsWith("vec")) return vectorType(Number(name[3]) as VectorType["size"], element);
  if (types.length === 0) return undefined;
  const component = element === abstractIntType ? abstractFloatType : element;
  const isFloat = Number.isFinite(conversionRank(abstractFloatType, component));
  return isFloat ? matrixType(Number(name[3]), Number(name[5]), component) : undefined;
}

function commonScalar(elements: readonly (ScalarType | undefined)[]): ScalarType | undefined {
  const known = elements.filter((element) => element !== undefined);
  return known.length === elements.length ? (commonType(known) as ScalarType | undefined) : undefined;
}
