/** Expressions of which only a part is evaluated: `?:`, `&&` and `||`. */
import type { ConditionalExpression, LogicalExpression, Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import type { BodyStatement, LoopExpression } from "../../tree/ir.ts";
import { operandsOf } from "../../tree/walk.ts";
import type { Lowering } from "../lowering.ts";
import { accuracyOf, chosen } from "../numbers/accuracy.ts";
import { asInteger, settled, toBoolean, toFloat } from "../numbers/conversions.ts";
import { rangeOfInteger } from "../numbers/exactIntegers.ts";
import { isBitwise } from "../numbers/hostValues.ts";
import { zero } from "../numbers/linear.ts";
import { zeroOfChoice } from "../numbers/minusZeros.ts";
import {
  as,
  hostBoolean,
  hostConstant,
  hostNumber,
  hull,
  type IntegerValue,
  integer,
  isBooleanValue,
  isFloatConstant,
  type LoweredValue,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { held } from "./evaluationOrder.ts";

/** Translates `a && b` and `a || b`. */
export const logical = (lowering: Lowering, node: LogicalExpression): LoweredValue =>
  logicalOf(lowering, node, lowering.expression(node.left), expression);

type Translate = (lowering: Lowering, node: Source) => LoweredValue;
const expression: Translate = (lowering, node) => lowering.expression(node);

/** Translates `a && b` or `a || b`, of which `a` is translated already. */
function logicalOf(
  lowering: Lowering,
  node: LogicalExpression,
  left: LoweredValue,
  translate: Translate,
): LoweredValue {
  const isAnd = node.operator === "&&";
  if (left.kind === "host" && left.constant !== undefined) {
    return Boolean(left.constant) === isAnd ? translate(lowering, node.right) : left;
  }
  const second = branch(lowering, node.right, translate);
  const { before, value: right } = second;
  if (before.length === 0 && isBooleanValue(left) && isBooleanValue(right)) {
    if (left.kind === "host" && right.kind === "host") {
      return hostBoolean(`(${left.code} ${node.operator} ${right.code})`);
    }
    const [a, b] = [toBoolean(lowering, left, node), toBoolean(lowering, right, node)];
    return {
      kind: "boolean",
      ir: { kind: "binary", type: "bool", operator: node.operator as "&&", left: a, right: b },
    };
  }
  // `a && b` is `a ? b : a`, and `a || b` is `a ? a : b`, with `a` evaluated once.
  const first = held(lowering, left);
  const test = toBoolean(lowering, first, node.left);
  const itself = { before: [], value: first };
  return merge(lowering, test, isAnd ? second : itself, isAnd ? itself : second, node);
}

/**
 * Translates an expression of which only the truth is used. There, both sides of `&&` and `||` may
 * be of any kind.
 */
export function condition(lowering: Lowering, source: Source): LoweredValue {
  const node = withoutTypes(source);
  if (node.type !== "LogicalExpression" || node.operator === "??") return lowering.expression(node);
  return lowering.nested(node, () => logicalOf(lowering, node, truth(lowering, node.left), truth));
}

/** Translates an expression to a boolean that is true where the expression is. */
function truth(lowering: Lowering, node: Source): LoweredValue {
  const value = condition(lowering, node);
  if (isBooleanValue(value)) return value;
  if (value.kind !== "host") return { kind: "boolean", ir: toBoolean(lowering, value, node) };
  return value.constant === undefined
    ? hostBoolean(`(!!${value.code})`)
    : hostConstant(Boolean(value.constant));
}

/**
 * Returns true if the value may be undefined, because it comes from an element that does not exist.
 * As an index, undefined is the name of a property, which may have a value.
 */
export function mayBeUndefined({ variables }: Lowering, value: LoopExpression): boolean {
  const seen = new Set<LoopExpression>();
  const visit = (ir: LoopExpression): boolean => {
    if (seen.has(ir)) return false;
    seen.add(ir);
    if (ir.kind === "local") return [...variables.definitionsOf(ir.name)].some(visit);
    if (ir.kind === "conditional") return visit(ir.yes) || visit(ir.no);
    return ir.kind === "load" || ir.kind === "carried";
  };
  return visit(value);
}

/**
 * Returns true if an integer may be NaN or undefined on the CPU. Such an integer comes, without a
 * coercion, from an element that does not exist.
 */
export function mayBeMissing({ variables }: Lowering, value: LoopExpression): boolean {
  const seen = new Set<LoopExpression>();
  const visit = (ir: LoopExpression): boolean => {
    if (seen.has(ir)) return false;
    seen.add(ir);
    if (ir.kind === "load" || ir.kind === "carried") return true;
    if (ir.kind === "local") return [...variables.definitionsOf(ir.name)].some(visit);
    if (ir.kind === "conditional") return visit(ir.yes) || visit(ir.no);
    const isCoerced =
      (ir.kind === "convert" && !ir.implicit) ||
      (ir.kind === "unary" && ir.operator === "~") ||
      (ir.kind === "binary" && isBitwise(ir.operator)) ||
      (ir.kind === "call" && (ir.callee === "imul" || ir.callee === "clz32"));
    return !isCoerced && operandsOf(ir).some(visit);
  };
  return visit(value);
}

/** Returns one of two values, each of which is translated in a branch of its own. */
export function choice(
  lowering: Lowering,
  test: LoopExpression,
  yes: () => LoweredValue,
  no: () => LoweredValue,
  node: Node,
): LoweredValue {
  const [first, second] = [yes, no].map((make) => branch(lowering, node as Source, make)) as [Branch, Branch];
  return merge(lowering, test, first, second, node);
}

interface Branch {
  readonly before: BodyStatement[];
  readonly value: LoweredValue;
}

function branch(lowering: Lowering, node: Source, translate: Translate = expression): Branch {
  let value!: LoweredValue;
  const assigned = new Set(lowering.assigned);
  const before = lowering.collect(() => {
    value = translate(lowering, node);
  });
  lowering.assigned = assigned;
  return { before, value };
}

/** Translates `test ? yes : no`. */
export function conditional(lowering: Lowering, node: ConditionalExpression): LoweredValue {
  const test = condition(lowering, node.test);
  if (test.kind === "host" && test.constant !== undefined) {
    return lowering.expression(test.constant ? node.consequent : node.alternate);
  }
  const branches = [branch(lowering, node.consequent), branch(lowering, node.alternate)] as const;
  const [a, b] = branches.map(({ value }) => value);
  const isPure = branches.every(({ before }) => before.length === 0);
  if (isPure && test.kind === "host" && a!.kind === "host" && b!.kind === "host" && a!.type === b!.type) {
    const code = `(${test.code} ? ${a!.code} : ${b!.code})`;
    return a!.type === "boolean"
      ? hostBoolean(code)
      : hostNumber(code, a!.nature === b!.nature ? a!.nature : "any");
  }
  return merge(lowering, toBoolean(lowering, test, node), branches[0], branches[1], node);
}

/**
 * Returns one of two values. A branch that needs statements, or loads, becomes a branch of an `if`.
 */
function merge(
  lowering: Lowering,
  test: LoopExpression,
  first: Branch,
  second: Branch,
  node: Node,
): LoweredValue {
  const [yes, no] = [first, second].map(({ before, value }) => ({
    before,
    value: settled(lowering, value, node),
  })) as [Branch, Branch];
  const values = [yes.value, no.value] as const;
  const booleans = values.map(isBooleanValue);
  if (booleans[0] !== booleans[1]) refuse(loopError.mixedTypes("?:", "number", "boolean", node));
  if (booleans[0]) {
    const ir = choose(lowering, test, yes, no, (value) => toBoolean(lowering, value, node));
    return { kind: "boolean", ir };
  }
  const whole = (value: LoweredValue) =>
    value.kind === "integer" || (value.kind === "host" && !isFloatConstant(value));
  if (!values.every(whole)) {
    const ir = choose(lowering, test, yes, no, (value) => toFloat(lowering, value, node));
    return { kind: "float", ir, accuracy: chosen(values.map((value) => accuracyOf(lowering, value))) };
  }
  const [a, b] = values.map((value) => asInteger(lowering, value, node)!) as [IntegerValue, IntegerValue];
  const type = a.ir.type === "u32" && b.ir.type === "u32" ? "u32" : "i32";
  const range = hull(rangeOfInteger(lowering, a), rangeOfInteger(lowering, b));
  const minusZero = zeroOfChoice(lowering, type, test, [yes.before, a], [no.before, b]);
  if (minusZero && yes.before.length + no.before.length > 0) {
    // The statements of the branches are emitted here.
    const kept = minusZero();
    return integer(kept.ir, range, zero, () => kept);
  }
  const ir = choose(lowering, test, yes, no, (value) => as(type, asInteger(lowering, value, node)!.ir));
  return integer(ir, range, zero, minusZero);
}

/** Returns one of two values after `convert`, which may emit statements in the branches. */
function choose(
  lowering: Lowering,
  test: LoopExpression,
  yes: Branch,
  no: Branch,
  convert: (value: LoweredValue) => LoopExpression,
): LoopExpression {
  const [a, b] = ([yes, no] as const).map(({ before, value }): Arm => {
    let ir!: LoopExpression;
    const statements = lowering.collect(() => {
      lowering.block.push(...before);
      ir = convert(value);
    });
    return { statements, ir };
  }) as [Arm, Arm];
  if (a.statements.length + b.statements.length === 0) {
    return { kind: "conditional", type: a.ir.type, test, yes: a.ir, no: b.ir };
  }
  const result = lowering.newLocal(a.ir.type);
  const arm = ({ statements, ir }: Arm): BodyStatement[] =>
    lowering.collect(() => {
      lowering.block.push(...statements);
      lowering.emit({ kind: "assign", name: result.name, value: ir });
    });
  lowering.emit({ kind: "if", test, yes: arm(a), no: arm(b) });
  return result;
}

interface Arm {
  readonly statements: readonly BodyStatement[];
  readonly ir: LoopExpression;
}
