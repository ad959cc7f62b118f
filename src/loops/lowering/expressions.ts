import type { MemberExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { Expression, Span, Statement } from "../ir.ts";
import { binary, choose, unary } from "./arithmetic.ts";
import { assign, update } from "./assignments.ts";
import { call } from "./calls.ts";
import { as, toBoolean, toIndex } from "./conversions.ts";
import { hostValue } from "./linear.ts";
import type { AccessedArray, Lowering } from "./lowering.ts";
import { meaningOf, read } from "./names.ts";
import { refuse } from "./refusal.ts";
import { effects } from "./statements.ts";
import {
  between,
  hostBoolean,
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
export const rangeOfElement: Readonly<Record<string, Interval>> = {
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
    case "ConditionalExpression": {
      const test = expression(lowering, node.test);
      return conditionally(lowering, test, node.consequent, node.alternate, node);
    }
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

function logical(lowering: Lowering, node: Extract<Source, { type: "LogicalExpression" }>): Value {
  const left = expression(lowering, node.left);
  if (node.operator === "??") {
    return nullish(lowering, left, node);
  }
  const isAnd = node.operator === "&&";
  if (left.kind === "host" && left.constant !== undefined) {
    return Boolean(left.constant) === isAnd ? expression(lowering, node.right) : left;
  }
  const second = branch(lowering, node.right);
  const { before, value: right } = second;
  const isBoolean = (value: Value) =>
    value.kind === "boolean" || (value.kind === "host" && value.type === "boolean");
  if (before.length === 0 && isBoolean(left) && isBoolean(right)) {
    if (left.kind === "host" && right.kind === "host") {
      return hostBoolean(`(${left.code} ${node.operator} ${right.code})`);
    }
    const [a, b] = [toBoolean(lowering, left, node), toBoolean(lowering, right, node)];
    return {
      kind: "boolean",
      ir: { kind: "binary", type: "bool", operator: node.operator, left: a, right: b },
    };
  }
  // `a && b` is `a ? b : a`, and `a || b` is `a ? a : b`, with `a` evaluated once.
  const first = held(lowering, left);
  const test = toBoolean(lowering, first, node.left);
  const itself = { before: [], value: first };
  return merge(lowering, test, isAnd ? second : itself, isAnd ? itself : second, node);
}

/** `a[i] ?? other`: an element that the array does not have is undefined. */
function nullish(
  lowering: Lowering,
  left: Value,
  node: Extract<Source, { type: "LogicalExpression" }>,
): Value {
  const element = left.kind === "integer" || left.kind === "float" ? left.ir : undefined;
  if (element?.kind !== "load") return left;
  const array = lowering.arrays.get(element.array)!;
  const at = lowering.hold(element.index);
  if (at.type === "f32") return refuse(loopError.unsupported("`??` of an element at a fraction", node));
  const compare = (operator: "<" | ">=", right: Expression): Expression => ({
    kind: "binary",
    type: "bool",
    operator,
    left: at,
    right,
  });
  const isBelow = compare("<", as(at.type, lowering.lengthOf(array)));
  const isAbove = compare(">=", { kind: "literal", type: at.type, value: 0 });
  const exists: Expression = { kind: "binary", type: "bool", operator: "&&", left: isAbove, right: isBelow };
  const itself = { before: [], value: { ...left, ir: { ...element, index: at } } as Value };
  return merge(lowering, exists, itself, branch(lowering, node.right), node);
}

interface Branch {
  readonly before: Statement[];
  readonly value: Value;
}

function branch(lowering: Lowering, node: Source): Branch {
  let value!: Value;
  const assigned = new Set(lowering.assigned);
  const before = lowering.collect(() => {
    value = expression(lowering, node);
  });
  lowering.assigned = assigned;
  return { before, value };
}

/** `test ? yes : no`. */
function conditionally(lowering: Lowering, test: Value, yes: Source, no: Source, node: Node): Value {
  if (test.kind === "host" && test.constant !== undefined)
    return expression(lowering, test.constant ? yes : no);
  const branches = [branch(lowering, yes), branch(lowering, no)] as const;
  const [a, b] = branches.map(({ value }) => value);
  if (test.kind === "host" && a!.kind === "host" && b!.kind === "host" && a!.type === b!.type) {
    const code = `(${test.code} ? ${a!.code} : ${b!.code})`;
    return a!.type === "boolean" ? hostBoolean(code) : hostNumber(code, a!.integral && b!.integral);
  }
  return merge(lowering, toBoolean(lowering, test, node), branches[0], branches[1], node);
}

/** One of two values. Where a branch needs statements, or loads, it becomes a branch of an `if`. */
function merge(lowering: Lowering, test: Expression, yes: Branch, no: Branch, node: Node): Value {
  const value = choose(lowering, test, yes.value, no.value, node);
  if (yes.before.length + no.before.length === 0) return value;
  const { ir } = value as Exclude<Value, { kind: "host" }>;
  if (ir.kind !== "conditional") throw new Error("a choice of two values is a conditional expression");
  const name = lowering.temporary();
  const zero: Expression = { kind: "literal", type: ir.type, value: 0 };
  lowering.emit({ kind: "declare", name, type: ir.type, value: zero });
  const arm = (statements: Statement[], chosen: Expression): Statement[] => [
    ...statements,
    { kind: "assign", name, value: chosen },
  ];
  lowering.emit({ kind: "if", test, yes: arm(yes.before, ir.yes), no: arm(no.before, ir.no) });
  return { ...value, ir: { kind: "local", type: ir.type, name } } as Value;
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
      return hostNumber(code, true, hostValue(code));
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
  const { ir, known } = toIndex(lowering, expression(lowering, node.property), node.property);
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

export const arrayHelp = (name: string) =>
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
