import type {
  DoWhileStatement,
  ForStatement,
  Node,
  Expression as Source,
  VariableDeclaration,
  VariableDeclarator,
  WhileStatement,
} from "oxc-parser";
import { type CountedLoop, countedLoop, isPlain, onlyHeaderChanges } from "../../source/countedLoop.ts";
import { childrenOf, lookUp } from "../../source/scopes.ts";
import type { BodyStatement, LoopExpression } from "../../tree/ir.ts";
import { condition } from "../expressions/choices.ts";
import type { Lowering } from "../lowering.ts";
import { asInteger, toBoolean } from "../numbers/conversions.ts";
import { commonType, exact, rangeOfInteger } from "../numbers/exactIntegers.ts";
import {
  add,
  constant,
  difference,
  hostValue,
  known,
  type Linear,
  subtract,
  unknown,
} from "../numbers/linear.ts";
import { zeroOfVariable } from "../numbers/minusZeros.ts";
import { type IntegerValue, int32, integer, literal, uint32 } from "../numbers/values.ts";
import { effects } from "./assignments.ts";
import { body } from "./branches.ts";
import { declaration } from "./declarations.ts";
import { setInteger } from "./setVariables.ts";

/** A counted loop whose header declares its only variable. */
type PlainLoop = CountedLoop & { readonly declarator: VariableDeclarator; readonly from: Source };

/** The parts of an inner loop. */
interface Parts {
  readonly label: string | undefined;
  /** Emits the test, which leaves the loop when it is false. */
  readonly test: () => void;
  readonly body: () => void;
  readonly update: () => void;
  readonly trips: Linear;
  /** Makes the statement for `continue`, if it does not go to the update. */
  readonly goOn?: () => BodyStatement;
}

export function forLoop(lowering: Lowering, node: ForStatement, label: string | undefined): void {
  const counting = countingOf(lowering, node);
  if (!counting && node.init) {
    if (node.init.type === "VariableDeclaration") declaration(lowering, node.init);
    else effects(lowering, node.init);
  }
  const parts: Parts = {
    label,
    test: () => (counting ? counting.test() : node.test && test(lowering, node.test)),
    body: () => body(lowering, node.body, (node.update ?? node.test ?? node).end),
    update: () => {
      if (counting) counting.update();
      else if (node.update) effects(lowering, node.update);
    },
    trips: counting?.trips ?? unknown,
  };
  loop(lowering, parts);
}

/** Returns the number of an array's elements, which the host requires to be an i32. */
export function hostCount(lowering: Lowering, code: string): Linear {
  const length = hostValue(code);
  lowering.guards.requireNotPositive(subtract(length, int32.high));
  return length;
}

export function whileLoop(lowering: Lowering, node: WhileStatement, label: string | undefined): void {
  loop(lowering, {
    label,
    test: () => test(lowering, node.test),
    body: () => body(lowering, node.body, node.test.end),
    update: () => {},
    trips: unknown,
  });
}

/**
 * Translates a do-while loop. `continue` goes to the test, so the body is a loop of its own that
 * runs once.
 */
export function doWhileLoop(lowering: Lowering, node: DoWhileStatement, label: string | undefined): void {
  const inner = lowering.label("body");
  let goesOn = false;
  loop(lowering, {
    label,
    goOn: () => {
      goesOn = true;
      return { kind: "break", label: inner };
    },
    test: () => {},
    body: () => {
      const statements = lowering.collect(() => body(lowering, node.body, node.start));
      if (goesOn) {
        lowering.emit({
          kind: "loop",
          label: inner,
          most: 1,
          body: [...statements, { kind: "break", label: inner }],
          update: [],
        });
      } else {
        lowering.block.push(...statements);
      }
      test(lowering, node.test);
    },
    update: () => {},
    trips: unknown,
  });
}

/** Emits an inner loop. */
export function loop(lowering: Lowering, parts: Parts): void {
  const label = lowering.label(parts.label);
  const before = lowering.assigned;
  const isLast = lowering.returns?.isLast;
  if (lowering.returns) lowering.returns.isLast = false;
  lowering.assigned = new Set(before);
  lowering.repetitions.push({ trips: parts.trips });
  lowering.jumpTargets.push({
    label: parts.label,
    leave: () => ({ kind: "break", label }),
    goOn: parts.goOn ?? (() => ({ kind: "continue", label })),
  });
  lowering.leaving.push(label);
  const statements = lowering.collect(() => {
    parts.test();
    parts.body();
  });
  const update = lowering.collect(parts.update);
  lowering.leaving.pop();
  lowering.jumpTargets.pop();
  lowering.repetitions.pop();
  lowering.assigned = before;
  if (lowering.returns && isLast !== undefined) lowering.returns.isLast = isLast;
  const most = known(parts.trips);
  lowering.emit({
    kind: "loop",
    label,
    body: statements,
    update,
    ...(most !== undefined && !Number.isNaN(most) ? { most: Math.max(0, Math.ceil(most)) } : {}),
  });
}

/** Emits `if (!test) break`. */
function test(lowering: Lowering, node: Source): void {
  const value = condition(lowering, node);
  if (value.kind === "host" && value.constant !== undefined && value.constant) return;
  leaveUnless(lowering, toBoolean(lowering, value, node));
}

/**
 * An inner loop whose variable only counts, from integer to integer by a constant, so that its
 * range is known.
 */
export interface Counting {
  readonly trips: Linear;
  readonly test: () => void;
  readonly update: () => void;
}

/**
 * Declares the variable of a counting inner loop. Returns undefined for other loops, and emits
 * nothing for them.
 */
function countingOf(lowering: Lowering, node: ForStatement): Counting | undefined {
  const found = countedLoop(node);
  const counted = found && isPlain(found) ? (found as PlainLoop) : undefined;
  const size = counted && stepSize(lowering, counted.step);
  const binding = counted && lookUp(lowering.scope, counted.name);
  if (!counted || !size || !binding || !onlyHeaderChanges(binding, node, counted.update, lowering.scopes))
    return undefined;
  // The other variables are declared first.
  const isInOrder = othersIn(node, counted).every(({ init }) => !init || isPlainValue(init, counted.name));
  if (!isInOrder) return undefined;

  const counter = lowering.declare(counted.name, counted.declarator);
  const { name } = counter;
  const local = (type: "i32" | "u32"): LoopExpression => ({ kind: "local", type, name });
  const mean = (value: IntegerValue) => lowering.meanings.set(binding, { kind: "value", value });

  // The range of the bound is needed before the body is translated. The bound is translated again
  // for the test.
  mean(integer(local("i32"), int32));
  const others = lowering.collect(() => declareOthers(lowering, node, counted));
  const ends = endsOf(lowering, counted);
  lowering.meanings.delete(binding);
  const values = ends && valuesOf(lowering, counted, ends.from, ends.to);
  if (!values) return undefined;
  const whole = rangeOfInteger(lowering, values);
  const tested = counted.isDown
    ? { low: subtract(whole.low, constant(size)), high: whole.high }
    : { low: whole.low, high: add(whole.high, constant(size)) };
  const [first, last] = [ends.from, ends.to].map((end) => rangeOfInteger(lowering, end));
  const type = commonType(lowering, [tested, first!, last!]);
  if (!type || !lowering.guards.requireWithin(tested, type === "u32" ? uint32 : int32)) return undefined;

  lowering.block.push(...others);
  const integerAt = (source: Source) => asInteger(lowering, lowering.expression(source), source)!;
  const from = integerAt(counted.from);
  exact(lowering, from, type);
  if (from.minusZero) lowering.variables.setMinusZero(counter);
  setInteger(lowering, "declare", counter, from, type);
  const variable = local(type);
  const minusZero = zeroOfVariable(lowering, counter, variable);
  return {
    trips: tripsOf(values, size),
    test: () => {
      mean(integer(variable, tested));
      const { operator } = counted;
      const right = exact(lowering, integerAt(counted.to), type);
      leaveUnless(lowering, { kind: "binary", type: "bool", operator, left: variable, right });
      mean({ ...values, ir: variable, minusZero });
    },
    update: () => {
      const operator = counted.isDown ? "-" : "+";
      const right = literal(type, size);
      const value: LoopExpression = { kind: "binary", type, operator, left: variable, right };
      // A sum with a step is never −0.
      setInteger(lowering, "assign", counter, integer(value, tested), type);
    },
  };
}

/** Declares other variables of the header. */
function declareOthers(lowering: Lowering, node: ForStatement, counted: CountedLoop): void {
  const declarations = othersIn(node, counted);
  if (declarations.length > 0)
    declaration(lowering, { ...(node.init as VariableDeclaration), declarations: [...declarations] });
}

const othersIn = ({ init }: ForStatement, { declarator }: CountedLoop): readonly VariableDeclarator[] =>
  init?.type === "VariableDeclaration" ? init.declarations.filter((one) => one !== declarator) : [];

/** Returns true for a value without effects that does not follow from the counted variable. */
const isPlainValue = (node: Node, counted: string): boolean =>
  !["AssignmentExpression", "UpdateExpression", "CallExpression"].includes(node.type) &&
  !(node.type === "Identifier" && node.name === counted) &&
  childrenOf(node).every((child) => isPlainValue(child, counted));

/** Leaves the innermost loop unless the condition holds. */
export function leaveUnless(lowering: Lowering, condition: LoopExpression): void {
  lowering.emit({
    kind: "if",
    test: { kind: "unary", type: "bool", operator: "!", operand: condition },
    yes: [{ kind: "break", label: lowering.leaving.at(-1)! }],
    no: [],
  });
}

function stepSize(lowering: Lowering, step: Source | null): number | undefined {
  if (!step) return 1;
  const value = lowering.expression(step);
  const size = value.kind === "host" && typeof value.constant === "number" ? value.constant : 0;
  return Number.isInteger(size) && size > 0 && size < 2 ** 31 ? size : undefined;
}

/** Returns both ends as integers, without emitting statements. */
function endsOf(
  lowering: Lowering,
  counted: PlainLoop,
): { readonly from: IntegerValue; readonly to: IntegerValue } | undefined {
  let ends: (IntegerValue | undefined)[] = [];
  lowering.collect(() => {
    ends = [counted.from, counted.to].map((node) => asInteger(lowering, lowering.expression(node), node));
  });
  const [from, to] = ends;
  return from && to && { from, to };
}

/**
 * Returns the values of the variable in the body. They are relative to the index if both ends are.
 */
function valuesOf(
  lowering: Lowering,
  { operator, isDown }: CountedLoop,
  from: IntegerValue,
  to: IntegerValue,
): IntegerValue | undefined {
  const towards = isDown ? ">" : "<";
  if (operator === "!=") {
    // A loop with `!=` that starts past its end never ends.
    const apart = isDown ? subtract(to.high, from.low) : subtract(from.high, to.low);
    if (difference(from.slope, to.slope) !== 0 || !lowering.guards.requireNotPositive(apart))
      return undefined;
  } else if (!operator.startsWith(towards)) return undefined;

  const open = operator.endsWith("=") && operator !== "!=" ? 0 : 1;
  const [least, greatest] = isDown ? [to, from] : [from, to];
  const related = difference(from.slope, to.slope) === 0;
  const low = (related ? least : rangeOfInteger(lowering, least)).low;
  const high = (related ? greatest : rangeOfInteger(lowering, greatest)).high;
  return {
    kind: "integer",
    ir: from.ir,
    slope: related ? from.slope : constant(0),
    low: isDown ? add(low, constant(open)) : low,
    high: isDown ? high : add(high, constant(-open)),
  };
}

function tripsOf({ low, high }: IntegerValue, size: number): Linear {
  const count = add(subtract(high, low), constant(1));
  const number = known(count);
  return number === undefined ? count : constant(Math.max(0, Math.ceil(number / size)));
}
