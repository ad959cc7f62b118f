import type { Node } from "oxc-parser";
import { loopWarning } from "../../diagnostics/loops.ts";
import type { Expression } from "../ir.ts";
import { accuracyOf } from "./accuracy.ts";
import { asInteger, refusePending, refuseProduct, toBoolean, toFloat } from "./conversions.ts";
import { rangeOfInteger } from "./exactIntegers.ts";
import { constant, maximum, minimum, multiply, scale, unknown, zero } from "./linear.ts";
import type { Lowering } from "./lowering.ts";
import { as, type Interval, negated, type Value } from "./values.ts";
import { type Kind, typeOfVariable, type Variable } from "./variables.ts";

/** The kind of variable that holds a value. */
export function kindOf(value: Value, node: Node): Kind {
  switch (value.kind) {
    case "integer":
    case "float":
    case "boolean":
      return value.kind;
    case "pending":
      if (value.what === "product") return refuseProduct(node);
      return value.what === "quotient" ? "float" : refusePending(node);
    case "host":
      if (value.type === "boolean") return "boolean";
      return typeof value.constant !== "number" || Number.isSafeInteger(value.constant) ? "integer" : "float";
  }
}

/** What an assignment adds to its variable. */
export interface Change {
  readonly operator: string;
  readonly change: Value;
}

/** Takes into account what a variable is set to. */
export function note(
  lowering: Lowering,
  variable: Variable,
  value: Value,
  node: Node,
  change?: Change,
): void {
  const kind = kindOf(value, node);
  const range = (of: Value): Interval => {
    const whole = kind === "integer" ? asInteger(lowering, of, node) : undefined;
    return whole ? rangeOfInteger(lowering, whole) : { low: zero, high: zero };
  };
  if (kind === "float" || variable.kind === "float") {
    lowering.variables.setAccuracy(variable, accuracyOf(lowering, value));
    const isRepeated = lowering.repetitions.length > variable.depth;
    if (change && "+-*".includes(change.operator) && isRepeated) {
      lowering.warn(loopWarning.floatSum(variable.name, node));
    }
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

/** The value as the type of a variable. */
export function convertTo(lowering: Lowering, variable: Variable, value: Value, node: Node): Expression {
  switch (variable.kind) {
    case "float":
      return toFloat(lowering, value, node);
    case "boolean":
      return toBoolean(lowering, value, node);
    default:
      return as(typeOfVariable(variable), asInteger(lowering, value, node)!.ir);
  }
}
