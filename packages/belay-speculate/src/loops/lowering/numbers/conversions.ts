/** JavaScript's conversions of values to the kind that a use needs. */
import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { refuse } from "../refusal.ts";
import { recordDecision } from "./accuracy.ts";
import { exact } from "./exactIntegers.ts";
import { zero } from "./linear.ts";
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
} from "./values.ts";

/** Returns the value as an integer; undefined if it is none. */
export function asInteger(lowering: Lowering, value: LoweredValue, node: Node): IntegerValue | undefined {
  switch (value.kind) {
    case "integer":
      return value;
    case "host":
      return value.type === "number" ? integerOfHost(lowering, value, node) : undefined;
    default:
      return undefined;
  }
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

/** Returns the value as an f32, rounded if necessary. */
export function toFloat(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  switch (value.kind) {
    case "float":
      return value.ir;
    case "integer": {
      recordUse(lowering, value.ir, "float");
      lowering.observesZeros = true;
      if (!value.minusZero) return as("f32", exact(lowering, value, node));
      const { ir, isMinusZero } = value.minusZero();
      const no = as("f32", exact(lowering, { ...value, ir }, node));
      return { kind: "conditional", type: "f32", test: isMinusZero, yes: literal("f32", -0), no };
    }
    case "host": {
      if (value.type === "boolean") break;
      if (typeof value.constant !== "number") return lowering.inputs.of(value, "f32");
      const rounded = Math.fround(value.constant);
      if (Number.isFinite(value.constant) && !Number.isFinite(rounded)) {
        refuse(
          loopError.inexactInteger(`an f32 does not hold ${value.constant}`, node, "use a smaller number"),
        );
      }
      return literal("f32", rounded);
    }
    case "pending": {
      if (value.what === "product") return refuseProduct(node);
      recordUse(lowering, value.ir, "float");
      const [left, right] = value.operands.map((operand) => toFloat(lowering, operand, node));
      return {
        kind: "binary",
        type: "f32",
        operator: value.what === "quotient" ? "/" : "%",
        left: left!,
        right: right!,
      };
    }
  }
  return refuse(
    loopError.unsupported("a boolean used as a number", node, "choose a number: `condition ? 1 : 0`"),
  );
}

export const refuseProduct = (node: Node): never =>
  refuse(
    loopError.inexactInteger(
      "this product may have more than the 53 bits of a double",
      node,
      "write `Math.imul(a, b)`, or keep the factors smaller, as in `(a & 0xffff) * b`",
    ),
  );

/** Returns the value as a condition. */
export function toBoolean(lowering: Lowering, value: LoweredValue, node: Node): LoopExpression {
  switch (value.kind) {
    case "boolean":
      return value.ir;
    case "float":
      recordDecision(lowering, [value], node);
      return { kind: "convert", type: "bool", operand: value.ir };
    case "integer":
      return { kind: "convert", type: "bool", operand: exact(lowering, value, node) };
    case "host":
      if (value.constant !== undefined) return boolean(Boolean(value.constant));
      return { kind: "convert", type: "bool", operand: lowering.inputs.of(hostBoolean(value.code), "i32") };
    case "pending":
      return refusePending(node);
  }
}

export const refusePending = (node: Node): never =>
  refuse(
    loopError.inexactInteger(
      "this may be no integer",
      node,
      "coerce it, as in `(a / b) | 0`, or use Math.fround to compute with an f32",
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
    case "host":
      if (typeof value.constant === "number") {
        const bits = value.constant | 0;
        return literal("i32", bits);
      }
      if (value.type === "boolean") return lowering.inputs.of(value, "i32");
      return integerOfHost(lowering, value, node).ir;
  }
}
