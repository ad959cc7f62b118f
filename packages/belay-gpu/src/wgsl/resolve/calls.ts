/**
 * Checks calls of functions of the program and of the language. Source: WGSL specification,
 * "Function Calls" and "Built-in Functions".
 */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { CallExpression, FunctionDeclaration } from "../ast.ts";
import { convert, foldBuiltin } from "../constants/index.ts";
import { concretize, withElement } from "../conversion.ts";
import { elementScalar } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import { type ScalarType, type Type, u32Type, voidType } from "../types.ts";
import type { Value } from "../values.ts";
import { checkConstructor, checkInferredConstructor } from "./constructors.ts";
import { type Context, type ExpressionFacts, errorFacts, errorType, runtime } from "./context.ts";
import { checkExplicitCall } from "./explicitCalls.ts";
import { applyOverload, evaluated } from "./overloads.ts";
import { explicitFunctions } from "./predeclared.ts";
import { checkType, isInferring } from "./typeExpressions.ts";

export function checkCall(cx: Context, call: CallExpression): ExpressionFacts {
  const { callee } = call;
  const target = cx.targets.get(callee);
  for (const arg of call.args) cx.check(arg);
  switch (target?.kind) {
    case undefined:
      return errorFacts;
    case "function":
      return userCall(cx, call, target);
    case "struct":
    case "alias":
      return checkConstructor(cx, call, checkType(cx, callee));
    case "builtin":
      if (target.category === "function") return predeclaredCall(cx, call);
      if (target.category === "type") {
        return isInferring(callee)
          ? checkInferredConstructor(cx, call)
          : checkConstructor(cx, call, checkType(cx, callee));
      }
  }
  cx.report(resolutionError.wrongKind(callee.name, "a function or a type", callee.span));
  return errorFacts;
}

function userCall(cx: Context, call: CallExpression, fn: FunctionDeclaration): ExpressionFacts {
  const { callee, args } = call;
  if (callee.templateArgs) cx.report(resolutionError.noTemplate(fn.name, callee.span));
  if (fn.attributes.some(({ name }) => name === "compute" || name === "vertex" || name === "fragment")) {
    cx.report(resolutionError.entryPointCalled(fn.name, callee.span));
  }
  if (args.length !== fn.parameters.length) {
    cx.report(resolutionError.argumentCount(fn.name, fn.parameters.length, args.length, call.span));
  }
  fn.parameters.slice(0, args.length).forEach((parameter, i) => {
    cx.convert(args[i]!, cx.declared.get(parameter) ?? errorType);
  });
  return runtime(cx.returns.get(fn) ?? voidType);
}

function predeclaredCall(cx: Context, call: CallExpression): ExpressionFacts {
  const { callee, args } = call;
  if (callee.name === "bitcast") return bitcast(cx, call);
  if (explicitFunctions.has(callee.name)) return checkExplicitCall(cx, call);
  if (callee.templateArgs) {
    cx.report(resolutionError.noTemplate(callee.name, callee.span));
  }
  return applyOverload(cx, call, callee.name, args, (values, type) => foldBuiltin(callee.name, values, type));
}

/** Checks a `bitcast`. Source: WGSL specification, "Bit Reinterpretation Built-in Functions". */
function bitcast(cx: Context, call: CallExpression): ExpressionFacts {
  const { callee, args } = call;
  const [targetType] = callee.templateArgs ?? [];
  const [operand] = args;
  if (targetType?.kind !== "identifier" || callee.templateArgs?.length !== 1) {
    cx.report(resolutionError.templateCount("bitcast", 1, 1, callee.templateArgs?.length ?? 0, callee.span));
    return errorFacts;
  }
  const type = checkType(cx, targetType);
  if (!operand || args.length !== 1) {
    cx.report(resolutionError.argumentCount("bitcast", 1, args.length, call.span));
    return errorFacts;
  }
  const from = cx.loadedType(operand);
  if (type === errorType || from === errorType) return errorFacts;
  const source = bitcastOperandType(from, type, cx.facts.get(operand)?.value);
  const bits = bitsOf(source);
  if (bits === undefined || bits !== bitsOf(type)) {
    cx.report(resolutionError.cannotConvert(describeType(from), describeType(type), call.span));
    return errorFacts;
  }
  cx.convert(operand, source);
  return evaluated(cx, call, type, cx.stageOf(operand), args, (values) =>
    foldBuiltin("bitcast", values, type),
  );
}

/**
 * Returns the type that an operand of `bitcast` is converted to. Abstract integers become u32 if
 * u32 is requested and they fit, so that all values of u32 can be written.
 */
function bitcastOperandType(from: Type, to: Type, value: Value | undefined): Type {
  const toUnsigned = elementScalar(to) === u32Type && elementScalar(from)?.name === "abstract-int";
  const unsigned = withElement(from, u32Type);
  return toUnsigned && (!value || convert(value, unsigned).ok) ? unsigned : concretize(from);
}

/** Returns the size of a numeric scalar or vector in bits, or undefined for a type without bits. */
function bitsOf(type: Type): number | undefined {
  const scalarBits = (scalar: ScalarType): number | undefined =>
    scalar.name === "bool" ? undefined : scalar.name === "f16" ? 16 : 32;
  if (type.kind === "scalar") return scalarBits(type);
  if (type.kind !== "vector") return undefined;
  const bits = scalarBits(type.element);
  return bits && bits * type.size;
}
