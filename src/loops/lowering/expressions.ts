import type { MemberExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { Expression, Span } from "../ir.ts";
import { binary, unary } from "./arithmetic.ts";
import { assign, update } from "./assignments.ts";
import { call } from "./calls.ts";
import { conditional, logical } from "./choices.ts";
import { indexOf } from "./indices.ts";
import type { AccessedArray, Lowering } from "./lowering.ts";
import { meaningOf, read } from "./names.ts";
import { refuse } from "./refusal.ts";
import { effects } from "./statements.ts";
import {
  between,
  hostConstant,
  hostNumber,
  type IntegerValue,
  type Interval,
  int32,
  integer,
  open,
  uint32,
  type Value,
} from "./values.ts";

/** Elements of these arrays, as numbers. */
const rangeOfElement: Readonly<Record<string, Interval>> = {
  i8: between(-128, 127),
  u8: between(0, 255),
  u8c: between(0, 255),
  i16: between(-32768, 32767),
  u16: between(0, 65535),
  i32: int32,
  u32: uint32,
};

/** Translates an expression. What has effects, or must be evaluated first, is emitted as statements before. */
export function expression(lowering: Lowering, node: Source): Value {
  return lowering.nested(node, () => translate(lowering, node));
}

function translate(lowering: Lowering, node: Source): Value {
  switch (node.type) {
    case "Literal":
      if (typeof node.value === "number" || typeof node.value === "boolean") return hostConstant(node.value);
      return refuse(loopError.unsupported(describe(node), node));
    case "Identifier":
      return named(lowering, node.name, node);
    case "TSNonNullExpression":
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSTypeAssertion":
      return expression(lowering, node.expression);
    case "UnaryExpression":
      if (node.operator === "-" || node.operator === "+" || node.operator === "~" || node.operator === "!") {
        return unary(lowering, node.operator, expression(lowering, node.argument), node);
      }
      return refuse(loopError.unsupported(`\`${node.operator}\``, node));
    case "BinaryExpression": {
      if (node.left.type === "PrivateIdentifier")
        return refuse(loopError.unsupported("a private field", node));
      const [left, right] = inOrder(lowering, [node.left, node.right]);
      return binary(lowering, node.operator, left!, right!, node);
    }
    case "LogicalExpression":
      return logical(lowering, node);
    case "ConditionalExpression":
      return conditional(lowering, node);
    case "MemberExpression":
      return member(lowering, node);
    case "AssignmentExpression":
      return assign(lowering, node);
    case "UpdateExpression":
      return update(lowering, node);
    case "CallExpression":
      return call(lowering, node);
    case "SequenceExpression": {
      for (const one of node.expressions.slice(0, -1)) effects(lowering, one);
      return expression(lowering, node.expressions.at(-1)!);
    }
    default:
      return refuse(loopError.unsupported(describe(node), node));
  }
}

/** Translates operands from left to right; what a later one might change is held before. */
export function inOrder(lowering: Lowering, nodes: readonly Source[]): Value[] {
  const values: Value[] = [];
  for (const node of nodes) {
    const value = afterwards(
      lowering,
      () => expression(lowering, node),
      () => {
        for (const [at, earlier] of values.entries()) values[at] = held(lowering, earlier);
      },
    );
    values.push(value);
  }
  return values;
}

/** Translates what is evaluated later; when it has effects, `holdEarlier` comes before them. */
export function afterwards<Result>(
  lowering: Lowering,
  translateLater: () => Result,
  holdEarlier: () => void,
): Result {
  let result!: Result;
  const statements = lowering.collect(() => {
    result = translateLater();
  });
  if (statements.some(({ kind }) => kind !== "declare")) holdEarlier();
  lowering.block.push(...statements);
  return result;
}

/** The value, kept in a local. */
export function held(lowering: Lowering, value: Value): Value {
  if (value.kind === "host") return value;
  if (value.kind !== "pending") return { ...value, ir: lowering.hold(value.ir) };
  const { ir } = value;
  if (ir.kind !== "binary") throw new Error("what is pending is the result of an operator");
  const [left, right] = [lowering.hold(ir.left), lowering.hold(ir.right)];
  const [a, b] = value.operands;
  return {
    ...value,
    ir: { ...ir, left, right },
    operands: [
      { ...a, ir: left },
      { ...b, ir: right },
    ],
  };
}

/** The value of a name. */
function named(lowering: Lowering, name: string, node: Node): Value {
  if (name === "undefined") return refuse(loopError.unsupported("`undefined`", node));
  if (name === "NaN" || name === "Infinity")
    return hostConstant(Number[name === "NaN" ? "NaN" : "POSITIVE_INFINITY"]);
  const meaning = meaningOf(lowering, name, node);
  switch (meaning.kind) {
    case "value":
      return meaning.value;
    case "variable":
      if (!lowering.assigned.has(meaning.variable)) {
        return refuse(
          loopError.unsupported(
            `\`${name}\`, which may have no value yet,`,
            node,
            "give it a value where it is declared",
          ),
        );
      }
      return read(meaning.variable);
    case "carried":
      return read(meaning.variable, true);
    case "reduction":
      return refuse(loopError.notReduced(name, meaning.operator, node));
    case "array":
      return refuse(
        loopError.unsupported("an array used as a value", node, "access its elements, or its length"),
      );
  }
}

function member(lowering: Lowering, node: MemberExpression): Value {
  if (!node.computed && node.property.type === "Identifier" && node.object.type === "Identifier") {
    const { name } = node.property;
    if (node.object.name === "Math" || node.object.name === "Number") {
      const value = node.object.name === "Math" ? Math[name as "PI"] : Number[name as "EPSILON"];
      if (typeof value === "number") return hostConstant(value);
    }
    if (name === "length") {
      const array = arrayOf(lowering, node.object);
      const code = `${array.name}.length`;
      return hostNumber(code, "integer", { range: between(0, 2 ** 52) });
    }
  }
  return loadOf(element(lowering, node));
}

/** An element of an array. */
export interface Place {
  readonly array: AccessedArray;
  readonly ir: Expression;
  readonly index: IntegerValue | null;
  readonly span: Span;
}

export function loadOf({ array, ir, index, span }: Place): Value {
  array.accesses.push({ kind: "load", span, index });
  const type = array.element === "f32" || array.element === "u32" ? array.element : "i32";
  const load: Expression = { kind: "load", type, array: array.name, index: ir, span };
  return array.element === "f32"
    ? { kind: "float", ir: load }
    : integer(load, rangeOfElement[array.element] ?? open);
}

/** The place that `array[index]` names. */
export function element(lowering: Lowering, node: MemberExpression): Place {
  if (!node.computed) {
    return refuse(
      loopError.unsupported(
        "a property of an object",
        node,
        "read it into a constant before the loop; of arrays, the loop can use elements and `length`",
      ),
    );
  }
  const array = arrayOf(lowering, node.object);
  const { ir, known } = indexOf(lowering, array, node.property);
  return { array, ir, index: known, span: spanOf(node) };
}

function arrayOf(lowering: Lowering, node: Source): AccessedArray {
  if (node.type === "TSNonNullExpression" || node.type === "TSAsExpression")
    return arrayOf(lowering, node.expression);
  if (node.type !== "Identifier") {
    return refuse(
      loopError.unsupported(
        "an array that is not a variable",
        node,
        "keep it in a constant before the loop: `const data = object.data`",
      ),
    );
  }
  const meaning = meaningOf(lowering, node.name, node);
  if (meaning.kind === "array") return meaning.array;
  return refuse(loopError.unknownType(node.name, node, arrayHelp(node.name)));
}

const arrayHelp = (name: string) =>
  `only typed arrays have elements that a GPU can hold: declare it as \`${name}: Float32Array\``;

export const spanOf = ({ start, end }: Node) => ({ start, end });

const names: Readonly<Record<string, string>> = {
  ArrowFunctionExpression: "a function",
  FunctionExpression: "a function",
  ClassExpression: "a class",
  ObjectExpression: "an object",
  ArrayExpression: "an array that the loop makes",
  AwaitExpression: "`await`",
  YieldExpression: "`yield`",
  NewExpression: "an object that the loop makes",
  TemplateLiteral: "a string",
  TaggedTemplateExpression: "a string",
  ThisExpression: "`this`",
  Super: "`super`",
  ChainExpression: "an optional access",
  ImportExpression: "an import",
  MetaProperty: "`import.meta`",
};

/** What an expression is, for people. */
function describe(node: Source): string {
  if (node.type === "Literal") {
    if (node.value === null) return "`null`";
    return { string: "a string", bigint: "a bigint", object: "a regular expression" }[
      typeof node.value as "string"
    ];
  }
  return names[node.type] ?? "this expression";
}
