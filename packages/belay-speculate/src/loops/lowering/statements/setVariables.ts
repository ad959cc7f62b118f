import type { Node } from "oxc-parser";
import { loopWarning } from "../../../diagnostics/loops.ts";
import type { LoopExpression, ValueType } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { accuracyOf, requireDoubles } from "../numbers/accuracy.ts";
import { asInteger, refuseCharacter, toBoolean, toFloat } from "../numbers/conversions.ts";
import { exactSum, rangeOfInteger } from "../numbers/exactIntegers.ts";
import { constant, maximum, minimum, multiply, scale, unknown, zero } from "../numbers/linear.ts";
import { refuseMinusZero, signed } from "../numbers/minusZeros.ts";
import {
  as,
  boolean,
  type IntegerValue,
  type Interval,
  int32,
  isFloatConstant,
  isFloatType,
  type LoweredValue,
  negated,
} from "../numbers/values.ts";
import { typeOfVariable, type Variable, type VariableKind } from "../variables.ts";

/** Warns if a float variable accumulates values. */
export function warnOfSum(lowering: Lowering, variable: Variable, node: Node): void {
  if (lowering.floats === "f64") return;
  if (variable.kind !== "float" || lowering.repetitions.length <= variable.depth) return;
  lowering.warn(loopWarning.floatSum(variable.name, node));
}

/** Returns the kind of variable that can hold a value. */
export function kindOf(value: LoweredValue, node: Node): VariableKind {
  switch (value.kind) {
    case "character":
      return refuseCharacter(node);
    case "integer":
    case "float":
    case "boolean":
      return value.kind;
    case "pending":
      return value.what === "quotient" ? "float" : "integer";
    case "host":
      if (value.type === "boolean") return "boolean";
      return isFloatConstant(value) ? "float" : "integer";
  }
}

/** The change that an assignment makes to its variable's old value. */
export interface Change {
  readonly operator: string;
  readonly change: LoweredValue;
}

/** Records an assignment in the facts about a variable. */
export function recordAssignment(
  lowering: Lowering,
  variable: Variable,
  value: LoweredValue,
  node: Node,
  change?: Change,
): void {
  const kind = kindOf(value, node);
  const range = (of: LoweredValue): Interval => {
    const whole = kind === "integer" ? asInteger(lowering, of, node) : undefined;
    return whole ? rangeOfInteger(lowering, whole) : { low: zero, high: zero };
  };
  if (kind === "float" || variable.kind === "float") {
    lowering.variables.setAccuracy(variable, accuracyOf(lowering, value));
  }
  if (kind === "integer" && asInteger(lowering, value, node)?.minusZero) {
    lowering.variables.setMinusZero(variable);
  }
  if (kind !== "integer" || !change || !["+", "-"].includes(change.operator)) {
    lowering.variables.set(variable, kind, range(value), node);
    return;
  }
  const once = change.operator === "+" ? range(change.change) : negated(range(change.change));
  const around = lowering.repetitions.slice(variable.depth);
  const isCounted = around.every(({ trips }) => lowering.guards.requireNotPositive(scale(trips, -1)));
  const counted = around.reduce((total, { trips }) => multiply(total, trips), constant(1));
  const trips = isCounted ? counted : unknown;
  lowering.variables.add(
    variable,
    kind,
    `${lowering.path}@${node.start}`,
    {
      low: multiply(trips, minimum(zero, once.low)),
      high: multiply(trips, maximum(zero, once.high)),
    },
    node,
  );
}

/** Declares a local variable or assigns to it. Returns its type. */
export function setLocal(
  lowering: Lowering,
  kind: "declare" | "assign",
  variable: Variable,
  value: LoweredValue,
  node: Node,
): ValueType {
  const type = typeOfVariable(variable);
  if (type === "i32" || type === "u32") {
    setInteger(lowering, kind, variable, asInteger(lowering, value, node)!, type);
  } else {
    const ir = isFloatType(type) ? toFloat(lowering, value, node) : toBoolean(lowering, value, node);
    emitSet(lowering, kind, variable.name, type, ir);
  }
  return type;
}

/** Sets a variable to an integer and, if something observes it, whether the integer is −0. */
export function setInteger(
  lowering: Lowering,
  kind: "declare" | "assign",
  variable: Variable,
  value: IntegerValue,
  type: ValueType,
): void {
  if (!variable.isZeroObserved) {
    emitSet(lowering, kind, variable.name, type, as(type, value.ir));
    return;
  }
  const { ir, isMinusZero } = signed(lowering, value);
  emitSet(lowering, kind, lowering.variables.zeroOf(variable), "bool", isMinusZero);
  emitSet(lowering, kind, variable.name, type, as(type, ir));
}

function emitSet(
  lowering: Lowering,
  kind: "declare" | "assign",
  name: string,
  type: ValueType,
  value: LoopExpression,
): void {
  lowering.emit(kind === "declare" ? { kind, name, type, value } : { kind, name, value });
}

/** Sets a variable that iterations pass on. `name` is its name in the program. */
export function setCarried(
  lowering: Lowering,
  variable: Variable,
  name: string,
  value: LoweredValue,
  node: Node,
): void {
  lowering.emit({ kind: "assignCarried", name: variable.name, value: carried() });

  function carried(): LoopExpression {
    const type = typeOfVariable(variable);
    if (type === "bool") return { kind: "convert", type: "i32", operand: toBoolean(lowering, value, node) };
    const integer = variable.kind === "integer" ? asInteger(lowering, value, node) : undefined;
    // A double keeps −0. The next pass translates the variable as one.
    if (integer?.minusZero && lowering.floats === "f64")
      lowering.variables.set(variable, "float", int32, node);
    else if (integer) refuseMinusZero(lowering, name, integer, node);
    if (!integer && accuracyOf(lowering, value) !== "exact")
      requireDoubles(lowering, `\`${name}\` keeps a double from iteration to iteration`, node);
    return integer ? exactSum(lowering, integer, type as "i32") : toFloat(lowering, value, node);
  }
}

/** Declares a local variable that has no value yet. */
export function declareEmpty(lowering: Lowering, variable: Variable): void {
  const type = typeOfVariable(variable);
  lowering.emit({ kind: "declare", name: variable.name, type, value: { kind: "literal", type, value: 0 } });
  if (!variable.isZeroObserved) return;
  const name = lowering.variables.zeroOf(variable);
  lowering.emit({ kind: "declare", name, type: "bool", value: boolean(false) });
}
