import type { Node } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { Expression, NumberType, ValueType } from "../ir.ts";
import { known, multiply } from "./linear.ts";
import type { Lowering } from "./lowering.ts";
import { refuse } from "./refusal.ts";
import { noteUse } from "./scalarUses.ts";
import {
  between,
  boolean,
  type HostValue,
  hostBoolean,
  hull,
  type IntegerValue,
  type Interval,
  int32,
  integer,
  literal,
  sum,
  uint32,
  type Value,
} from "./values.ts";

/** Integers that a double tells apart. */
export const safe = between(-(2 ** 53), 2 ** 53);
/** Integers that an f32 tells apart. */
const exactFloats = between(-(2 ** 24), 2 ** 24);
/** The same number for the part of the loop behind, which JavaScript does not convert. */
export function as(type: ValueType, ir: Expression): Expression {
  return ir.type === type ? ir : { kind: "convert", type, operand: ir, implicit: true };
}

/** All values that the integer has over the iterations. */
export function rangeOfInteger(lowering: Lowering, { slope, low, high }: IntegerValue): Interval {
  const ends = [multiply(slope, lowering.index.low), multiply(slope, lowering.index.high)];
  // There is a first and a last index: without iterations nothing is said about any.
  const factor = known(slope);
  if (factor !== undefined) {
    const [first, last] = factor >= 0 ? ends : ends.reverse();
    return sum({ low: first!, high: last! }, { low, high });
  }
  const moved = hull({ low: ends[0]!, high: ends[0]! }, { low: ends[1]!, high: ends[1]! });
  return sum(moved, { low, high });
}

/** The value as an integer, or undefined when it is none. */
export function asInteger(lowering: Lowering, value: Value, node: Node): IntegerValue | undefined {
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
    return integer(ir, between(constant, constant));
  }
  requireInteger(lowering, value);
  return integer(lowering.input(value, "i32"), { low: linear, high: linear });
}

/** The host checks what is not an integer anyway. */
export function requireInteger({ guards }: Lowering, { code, linear, range }: HostValue): void {
  if (range) guards.assumeWithin({ low: linear, high: linear }, range);
  else guards.require(`Number.isSafeInteger(${code})`);
}

/** The value as an f32, rounded if it has to be. */
export function toFloat(lowering: Lowering, value: Value, node: Node): Expression {
  switch (value.kind) {
    case "float":
      return value.ir;
    case "integer":
      noteUse(lowering, value.ir, "float");
      return as("f32", exact(lowering, value, node));
    case "host": {
      if (value.type === "boolean") break;
      if (typeof value.constant !== "number") return lowering.input(value, "f32");
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
      noteUse(lowering, value.ir, "float");
      const [left, right] = value.operands.map((operand) => as("f32", exact(lowering, operand, node)));
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

/** The value as a condition. */
export function toBoolean(lowering: Lowering, value: Value, node: Node): Expression {
  switch (value.kind) {
    case "boolean":
      return value.ir;
    case "float":
      return { kind: "convert", type: "bool", operand: value.ir };
    case "integer":
      return { kind: "convert", type: "bool", operand: exact(lowering, value, node) };
    case "host":
      if (value.constant !== undefined) return boolean(Boolean(value.constant));
      return { kind: "convert", type: "bool", operand: lowering.input(hostBoolean(value.code), "i32") };
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

/** The low 32 bits that JavaScript's coercion by an integer operator or an integer array leaves of the value. */
export function toBits(lowering: Lowering, value: Value, node: Node): Expression {
  switch (value.kind) {
    case "integer":
    case "pending":
      return value.ir;
    case "float":
      return { kind: "convert", type: "i32", operand: value.ir };
    case "boolean":
      return { kind: "convert", type: "i32", operand: value.ir };
    case "host":
      if (typeof value.constant === "number") {
        const bits = value.constant | 0;
        return literal("i32", bits);
      }
      if (value.type === "boolean") return lowering.input(value, "i32");
      return integerOfHost(lowering, value, node).ir;
  }
}

/**
 * The integer in a type that holds it exactly, for what looks at all of it. The type is given, or follows from the range; the host
 * checks what only it knows.
 */
export function exact(lowering: Lowering, value: IntegerValue, node: Node, type?: NumberType): Expression {
  const range = rangeOfInteger(lowering, value);
  const chosen = type ?? commonType(lowering, [range]);
  if (!chosen || !lowering.guards.requireWithin(range, chosen === "u32" ? uint32 : int32)) {
    return refuseWide(node);
  }
  return as(chosen, value.ir);
}

export const refuseWide = (node: Node): never =>
  refuse(
    loopError.inexactInteger(
      "this integer may have more than 32 bits",
      node,
      "coerce it where it is computed, as in `(a + b) | 0`",
    ),
  );

/** An integer type that holds all these ranges, by what is known now if possible, else as far as the host can check. */
export function commonType({ guards }: Lowering, ranges: readonly Interval[]): "i32" | "u32" | undefined {
  const states = (["i32", "u32"] as const).map((type) => {
    const each = ranges.map((range) => guards.within(range, type === "u32" ? uint32 : int32));
    return { type, state: each.includes("never") ? "never" : each.includes("open") ? "open" : "known" };
  });
  return (states.find(({ state }) => state === "known") ?? states.find(({ state }) => state === "open"))
    ?.type;
}

/** Whether every value of the range is one that an f32 has; the host checks what only it knows. */
export function fitsFloat(lowering: Lowering, value: IntegerValue): boolean {
  return lowering.guards.requireWithin(rangeOfInteger(lowering, value), exactFloats);
}

/** An integer computed from others: a double must hold it, or its low bits are lost. */
export function computed(lowering: Lowering, value: IntegerValue, node: Node): IntegerValue {
  if (!lowering.guards.requireWithin(rangeOfInteger(lowering, value), safe)) {
    refuse(
      loopError.inexactInteger(
        "this integer may grow beyond what a double holds exactly",
        node,
        "coerce it where it is computed, as in `(a + b) | 0`",
      ),
    );
  }
  return value;
}

/** An integer type that holds both operands exactly. */
export function typeForBoth(lowering: Lowering, one: Interval, other: Interval, node: Node): "i32" | "u32" {
  const type = commonType(lowering, [one, other]);
  if (type) return type;
  if (!commonType(lowering, [one]) || !commonType(lowering, [other])) return refuseWide(node);
  return refuse(
    loopError.inexactInteger(
      "no type of 32 bits holds both the signed and the unsigned integer",
      node,
      "coerce one of them, as in `(a >>> 0) < b`",
    ),
  );
}
