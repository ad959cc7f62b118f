/**
 * Checks calls of functions whose result a template list decides, or which take subgroup matrices
 * or opaque buffers. The operands are checked less strictly than by a signature.
 *
 * Source: WGSL specification, "Buffer View Built-in Functions"; Tint, "subgroup_matrix" and
 * "resource_table".
 */
import { resolutionError } from "../../diagnostics/resolution.ts";
import type { CallExpression, Expression } from "../ast.ts";
import { isHandle } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import { boolType, type SubgroupMatrixType, type Type, u32Type, voidType } from "../types.ts";
import { type Context, type ExpressionFacts, errorFacts, errorType, runtime } from "./context.ts";
import { checkEnumerant } from "./enumerants.ts";
import { majorOrders } from "./predeclared.ts";
import { checkType, componentName } from "./typeExpressions.ts";

/** A call whose arguments are checked. */
interface Checked {
  readonly cx: Context;
  /** The types of the arguments, after the load rule. */
  readonly types: readonly Type[];
  readonly templateArgs: readonly Expression[];
}

interface ExplicitFunction {
  /** The smallest and the largest number of template arguments. */
  readonly templates: readonly [number, number];
  readonly args: readonly [number, number];
  /** Returns the result, or undefined if the arguments do not fit. */
  result(call: Checked): Type | undefined;
}

/** Returns the type that the first template argument denotes. */
const typeOf = ({ cx, templateArgs: [argument] }: Checked): Type => {
  return argument?.kind === "identifier" ? checkType(cx, argument) : errorType;
};

const matrixAt = ({ types }: Checked, index: number): SubgroupMatrixType | undefined => {
  const type = types[index];
  return type?.kind === "subgroupMatrix" ? type : undefined;
};

const view: ExplicitFunction["result"] = (call) => {
  const [pointer] = call.types;
  const store = typeOf(call);
  if (store === errorType) return errorType;
  return pointer?.kind === "pointer" && pointer.store.kind === "buffer" ? { ...pointer, store } : undefined;
};

const isArrayPointer = (type: Type | undefined) => type?.kind === "pointer" && type.store.kind === "array";

/** Checks the order in memory that a template argument names. */
const checkOrder = ({ cx, templateArgs }: Checked, index: number): void => {
  const order = templateArgs[index];
  if (order) checkEnumerant(cx, order, majorOrders, "an order in memory");
};

const scaled: ExplicitFunction = {
  templates: [0, 0],
  args: [2, 2],
  result: (call) => matrixAt(call, 0),
};

/** Source of the two forms of loads and stores: Tint, before and after the order was a template. */
const functions: Readonly<Record<string, ExplicitFunction>> = {
  bufferView: { templates: [1, 1], args: [2, 2], result: view },
  bufferArrayView: { templates: [1, 1], args: [3, 3], result: view },
  bufferLength: {
    templates: [0, 0],
    args: [1, 1],
    result: ({ types: [pointer] }) =>
      pointer?.kind === "pointer" && pointer.store.kind === "buffer" ? u32Type : undefined,
  },
  getResource: {
    templates: [1, 1],
    args: [1, 1],
    result: (call) => {
      const type = typeOf(call);
      return type === errorType || isHandle(type) ? type : undefined;
    },
  },
  hasResource: {
    templates: [1, 1],
    args: [1, 1],
    result: (call) => (typeOf(call) === errorType ? errorType : boolType),
  },
  subgroupMatrixLoad: {
    templates: [1, 2],
    args: [3, 4],
    result: (call) => {
      checkOrder(call, 1);
      const type = typeOf(call);
      if (type === errorType) return type;
      return type.kind === "subgroupMatrix" && isArrayPointer(call.types[0]) ? type : undefined;
    },
  },
  subgroupMatrixStore: {
    templates: [0, 1],
    args: [4, 5],
    result: (call) => {
      checkOrder(call, 0);
      return matrixAt(call, 2) && isArrayPointer(call.types[0]) ? voidType : undefined;
    },
  },
  subgroupMatrixMultiply: {
    templates: [1, 1],
    args: [2, 2],
    result: (call) => {
      const [left, right] = [matrixAt(call, 0), matrixAt(call, 1)];
      const component = componentName(call.cx, call.templateArgs[0]!);
      if (!left || !right) return undefined;
      if (component === undefined) return errorType;
      return { kind: "subgroupMatrix", side: "result", component, columns: right.columns, rows: left.rows };
    },
  },
  subgroupMatrixMultiplyAccumulate: {
    templates: [0, 0],
    args: [3, 3],
    result: (call) => (matrixAt(call, 0) && matrixAt(call, 1) ? matrixAt(call, 2) : undefined),
  },
  subgroupMatrixScalarAdd: scaled,
  subgroupMatrixScalarSubtract: scaled,
  subgroupMatrixScalarMultiply: scaled,
};

/** Checks a call of one of these functions. The arguments are checked already. */
export function checkExplicitCall(cx: Context, call: CallExpression): ExpressionFacts {
  const { callee, args, span } = call;
  const { templates, args: counts, result } = functions[callee.name]!;
  const templateArgs = callee.templateArgs ?? [];
  if (templateArgs.length < templates[0] || templateArgs.length > templates[1]) {
    cx.report(resolutionError.templateCount(callee.name, ...templates, templateArgs.length, callee.span));
    return errorFacts;
  }
  if (args.length < counts[0] || args.length > counts[1]) {
    cx.report(resolutionError.argumentCount(callee.name, counts[0], args.length, span));
    return errorFacts;
  }
  const types = args.map((arg) => cx.loadedType(arg));
  if (types.includes(errorType)) return errorFacts;
  const type = result({ cx, types, templateArgs });
  if (type === errorType) return errorFacts;
  if (type) return runtime(type);
  cx.report(resolutionError.noOverload(callee.name, types.map(describeType), [], span));
  return errorFacts;
}
