import type { BodyStatement, LoopExpression } from "../../tree/ir.ts";
import { type KnownFacts, prove } from "../prove.ts";
import { allOf, type IntegerRange, rangeOf } from "../ranges.ts";
import { type CountedInnerLoop, mostAhead } from "./unroll.ts";

type InnerLoop = Extract<BodyStatement, { kind: "loop" }>;

/**
 * Returns the counter of an inner loop `for (; name < end; name += step)`, with the range of `name`
 * in the body. Returns null if the loop has another form or changes any of these elsewhere.
 * `changed` are the locals that the loop assigns.
 */
export function counterOf(
  { body, update }: InnerLoop,
  changed: readonly string[],
  known: KnownFacts,
):
  | (Pick<CountedInnerLoop, "counter" | "test" | "step" | "tripCount"> & { readonly values: IntegerRange })
  | null {
  const [leave] = body;
  if (leave?.kind !== "if" || leave.yes[0]?.kind !== "break") return null;
  const { test } = leave;
  if (test.kind !== "unary" || test.operand.kind !== "binary") return null;
  const { left, operator, right } = test.operand;
  const [step] = update;
  if (left.kind !== "local" || step?.kind !== "assign" || step.name !== left.name || update.length > 1)
    return null;
  const { value } = step;
  const isSum = value.kind === "binary" && value.left.kind === "local" && value.left.name === left.name;
  if (!isSum || value.right.kind !== "literal" || changed.filter((name) => name === left.name).length > 1)
    return null;
  const size = Number(value.right.value);
  const start = known.locals.get(left.name);
  const end = constantRange(right, changed, known);
  if (!start || !end || !(size > 0)) return null;
  const closed = operator.endsWith("=") ? 0 : 1;
  const isUp = value.operator === "+" && (operator === "<" || operator === "<=");
  const isDown = value.operator === "-" && (operator === ">" || operator === ">=");
  if (!isUp && !isDown) return null;
  const values = isUp
    ? rangeOf(start.low, Math.max(start.low, end.high - closed))
    : rangeOf(Math.min(start.high, end.low + closed), start.high);
  // The counter must not wrap some steps past its last value.
  const ahead = mostAhead * size;
  const reached = isUp ? rangeOf(values.low, values.high + ahead) : rangeOf(values.low - ahead, values.high);
  const all = allOf(left.type);
  if (!all || reached.low < all.low || reached.high > all.high) return null;
  const tripCount = Math.ceil((values.high - values.low + 1) / size);
  return { counter: left, test: test.operand, step: size, values, tripCount };
}

/**
 * Returns the range of an expression that no iteration of the inner loop changes; null if one may.
 */
function constantRange(
  expression: LoopExpression,
  changed: readonly string[],
  known: KnownFacts,
): IntegerRange | null {
  switch (expression.kind) {
    case "literal":
    case "input":
    case "length":
    case "index":
      return prove(expression, known)[1];
    case "local":
      return changed.includes(expression.name) ? null : prove(expression, known)[1];
    default:
      return null;
  }
}
