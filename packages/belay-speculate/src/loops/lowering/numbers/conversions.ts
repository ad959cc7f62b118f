/** JavaScript's conversions of values to the kind that a use needs. */
import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { refuse } from "../refusal.ts";
import { recordDecision, refuseWithoutDoubles, requireSameRounding } from "./accuracy.ts";
import { checkedAs } from "./checkedIntegers.ts";
import { exact, fitsFloat, rangeOfType } from "./exactIntegers.ts";
import { zero } from "./linear.ts";
import { zeroOfProduct, zeroOfRemainder } from "./minusZeros.ts";
import { recordUse } from "./scalarUses.ts";
import {
  as,
  between,
  boolean,
  type HostValue,
  hostBoolean,
  type IntegerValue,
  integer,
  type LoweredValue,
  literal,
  type PendingValue,
} from "./values.ts";

/** Returns the value as an integer; undefined if it is none. */
export function asInteger(lowering: Lowering, value: LoweredValue, node: Node): IntegerValue | undefined {
  switch (value.kind) {
    case "integer":
      return value;
    case "host":
      return value.type === "number" ? integerOfHost(lowering, value, node) : undefined;
    case "pending":
      return value.what === "quotient" ? undefined : integerOfPending(lowering, value);
    default:
      return undefined;
  }
}

/**
 * Returns a value whose number is needed, and not only its low 32 bits. A product or a remainder
 * becomes an integer, and the iteration bails out unless 32 bits hold it.
 */
export function settled(lowering: Lowering, value: LoweredValue, node: Node): LoweredValue {
  return value.kind === "pending" ? (asInteger(lowering, value, node) ?? value) : value;
}

function integerOfPending(lowering: Lowering, { what, ir, coerced, operands }: PendingValue): IntegerValue {
  const type = ir.type === "u32" ? "u32" : "i32";
  if (what === "product") {
    const make = (left: LoopExpression, right: LoopExpression): LoopExpression =>
      checkedAs(lowering.variables, type, { kind: "binary", type, operator: "*", left, right });
    const zeros = zeroOfProduct(lowering, operands, make);
    return integer(make(operands[0].ir, operands[1].ir), rangeOfType(type), zero, zeros);
  }
  const make = (left: LoopExpression, right: LoopExpression): LoopExpression => ({
    kind: "binary",
    type,
    operator: "%",
    left: as(type, left),
    right: as(type, right),
    checked: true,
  });
  return integer(
    { ...ir, checked: true } as LoopExpression,
    coerced,
    zero,
    zeroOfRemainder(lowering, operands, make),
  );
}

function integerOfHost(lowering: Lowering, value: HostValue, node: Node): IntegerValue {
  const { constant, linear } = value;
  if (typeof constant === "number") {
    if (!Number.isSafeInteger(constant)) {
      refuse(
        loopError.inexactInteger(
          `${constant} is no integer`,
          node,
          "use it with numbers of a Float32Array only",
        ),
      );
    }
    const ir = constant > 2 ** 31 - 1 ? literal("u32", constant) : literal("i32", constant);
    const minusZero = Object.is(constant, -0) ? () => ({ ir, isMinusZero: boolean(true) }) : undefined;
    return integer(ir, between(constant, constant), zero, minusZero);
  }
  requireInteger(lowering, value);
  lowering.hostIntegers.add(value.code);
  return integer(lowering.inputs.of(value, "i32"), { low: linear, high: linear });
}

/** Requires that a host value is an integer, which the host checks if its range is unknown. */
export function requireInteger({ guards }: Lowering, { code, linear, range }: HostValue): void {
  if (range) guards.assumeWithin({ low: linear, high: linear }, range);
  else guards.require(`Number.isSafeInteger(${code})`);
}

/** Returns the value as a float of the loop; an f32 is rounded if necessary. */
export function toFloat(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  const { floats } = lowering;
  if (floats === "f64") lowering.firstDouble ??= node;
  switch (value.kind) {
    case "float":
      return value.ir;
    case "integer": {
      recordUse(lowering, value.ir, "float");
      lowering.observesZeros = true;
      if (floats === "f32" && isExact(lowering) && !fitsFloat(lowering, value))
        requireSameRounding(lowering, "this integer", node);
      if (!value.minusZero) return as(floats, exact(lowering, value));
      const { ir, isMinusZero } = value.minusZero();
      const no = as(floats, exact(lowering, { ...value, ir }));
      return { kind: "conditional", type: floats, test: isMinusZero, yes: literal(floats, -0), no };
    }
    case "character":
      return refuseCharacter(node);
    case "host": {
      if (value.type === "boolean") break;
      if (typeof value.constant !== "number") {
        return lowering.inputs.of(value, floats, floats === "f32" && !isExact(lowering));
      }
      if (floats === "f64") return literal(floats, value.constant);
      const rounded = Math.fround(value.constant);
      if (Number.isFinite(value.constant) && !Number.isFinite(rounded)) {
        const reason = `an f32 does not hold ${value.constant}`;
        refuseWithoutDoubles(lowering, reason, node, "use a smaller number");
      }
      return literal("f32", isExact(lowering) ? value.constant : rounded);
    }
    case "pending": {
      if (value.what === "product" && floats === "f32")
        return toFloat(lowering, integerOfPending(lowering, value), node);
      recordUse(lowering, value.ir, "float");
      if (value.what === "quotient") requireSameRounding(lowering, "this quotient", node);
      const [left, right] = value.operands.map((operand) => toFloat(lowering, operand, node));
      return {
        kind: "binary",
        type: floats,
        operator: operators[value.what],
        left: left!,
        right: right!,
      };
    }
  }
  return refuse(
    loopError.unsupported("a boolean used as a number", node, "choose a number: `condition ? 1 : 0`"),
  );
}

const operators = { quotient: "/", remainder: "%", product: "*" } as const;

/** Returns the value rounded as by `Math.fround`, as a float of the loop. */
export function toSingle(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  const { floats } = lowering;
  const operand = toFloat(lowering, value, node);
  // Arithmetic with `precision(f32)` is rounded already. A missing element becomes NaN.
  const isRounded =
    floats === "f32" && !isExact(lowering) && (operand.kind === "binary" || operand.kind === "call");
  return isRounded ? operand : as(floats, { kind: "convert", type: "f32", operand });
}

/** Returns true if the loop gives the numbers that JavaScript's doubles give. */
const isExact = ({ loop }: Lowering) => loop.directive.precision === "exact";

/** Returns the value as a condition. */
export function toBoolean(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  switch (value.kind) {
    case "boolean":
      return value.ir;
    case "float":
      recordDecision(lowering, [value], node);
      return { kind: "convert", type: "bool", operand: value.ir };
    case "integer":
      return { kind: "convert", type: "bool", operand: exact(lowering, value) };
    case "host":
      if (value.constant !== undefined) return boolean(Boolean(value.constant));
      return { kind: "convert", type: "bool", operand: lowering.inputs.of(hostBoolean(value.code), "i32") };
    case "character":
      return refuseCharacter(node);
    case "pending":
      if (value.what === "quotient") {
        requireQuotient(lowering, node);
        return { kind: "convert", type: "bool", operand: toFloat(lowering, value, node) };
      }
      return toBoolean(lowering, integerOfPending(lowering, value), node);
  }
}

/** Refuses a quotient of integers of which only a double is exact enough. */
export function requireQuotient(lowering: Lowering, node: Node): void {
  const help = "coerce it, as in `(a / b) | 0`, or use Math.fround to compute with an f32";
  if (lowering.floats === "f32") refuseWithoutDoubles(lowering, "this may be no integer", node, help);
}

export const refuseCharacter = (node: Node): never =>
  refuse(
    loopError.unsupported(
      "a character of a string used as something else",
      node,
      "compare it with a character, or take its code: `text.charCodeAt(i)`",
    ),
  );

/**
 * Returns the low 32 bits of the value, as after JavaScript's coercion by an integer operator or a
 * store to an integer array.
 */
export function toBits(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  switch (value.kind) {
    case "integer":
    case "pending":
      return value.ir;
    case "float":
      recordDecision(lowering, [value], node);
      return { kind: "convert", type: "i32", operand: value.ir };
    case "boolean":
      return { kind: "convert", type: "i32", operand: value.ir };
    case "character":
      return refuseCharacter(node);
    case "host":
      if (typeof value.constant === "number") {
        const bits = value.constant | 0;
        return literal("i32", bits);
      }
      if (value.type === "boolean") return lowering.inputs.of(value, "i32");
      return integerOfHost(lowering, value, node).ir;
  }
}
