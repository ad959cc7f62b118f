import type { Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression } from "../../tree/ir.ts";
import type { AccessedArray, Lowering } from "../lowering.ts";
import { recordDecision } from "../numbers/accuracy.ts";
import { asInteger, requireQuotient, toFloat } from "../numbers/conversions.ts";
import { exact, rangeOfInteger } from "../numbers/exactIntegers.ts";
import { constant, hostValue, subtract } from "../numbers/linear.ts";
import { recordUse } from "../numbers/scalarUses.ts";
import { as, between, type IntegerValue, type LoweredValue, literal, uint32 } from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { inOrder } from "./evaluationOrder.ts";
import { binary } from "./operators.ts";

/**
 * An index as kernels compute it, modulo 2^32. An index that names no element in JavaScript must
 * name none in kernels either.
 */
export interface Index {
  readonly ir: LoopExpression;
  /** The integer and its range; null if they are unknown. */
  readonly known: IntegerValue | null;
}

/**
 * Ranges of indices, each with an array length. An index in the range that needs more than 32 bits
 * wraps to no element of an array of at most this length.
 */
const ranges = [
  { length: 2 ** 31, range: between(-(2 ** 31), 2 ** 32 - 1) },
  { length: 2 ** 30, range: between(-3 * 2 ** 30, 2 ** 32 - 1) },
];

/** Translates the index of an element. */
export function indexOf(lowering: Lowering, array: AccessedArray, node: Source): Index {
  if (node.type !== "BinaryExpression" || node.operator !== "+") {
    return toIndex(lowering, array, lowering.expression(node), node);
  }
  const [left, right] = inOrder(lowering, [node.left as Source, node.right]) as [LoweredValue, LoweredValue];
  const sum = binary(lowering, "+", left, right, node);
  const isWide = sum.kind === "integer" && !fitting(lowering, sum);
  const [a, b] = isWide ? [left, right].map((value) => asInteger(lowering, value, node)!) : [];
  const arePositive = [a, b].every(
    (value) => value && lowering.guards.within(rangeOfInteger(lowering, value), uint32) === "known",
  );
  return arePositive ? saturated(lowering, array, a!, b!) : toIndex(lowering, array, sum, node);
}

const fitting = (lowering: Lowering, index: IntegerValue) =>
  ranges.find(({ range }) => lowering.guards.within(rangeOfInteger(lowering, index), range) !== "never");

/** Returns a value as the index of an element. */
export function toIndex(lowering: Lowering, array: AccessedArray, value: LoweredValue, node: Node): Index {
  if (value.kind === "float") {
    recordUse(lowering, value.ir, "integer");
    recordDecision(lowering, [value], node);
    return { ir: value.ir, known: null };
  }
  if (value.kind === "pending" && value.what === "quotient") {
    requireQuotient(lowering, node);
    return { ir: toFloat(lowering, value, node), known: null };
  }
  const index = asInteger(lowering, value, node);
  if (!index) return refuse(loopError.unsupported("this index", node));
  recordUse(lowering, index.ir, "integer");
  const found = fitting(lowering, index);
  if (!found) return { ir: exact(lowering, index), known: null };
  lowering.guards.requireWithin(rangeOfInteger(lowering, index), found.range);
  // A GPU's buffers have fewer than 2^31 elements anyway.
  if (found.length < 2 ** 31) requireLength(lowering, array, found.length);
  return { ir: index.ir, known: index };
}

/**
 * Makes a sum of unsigned integers that does not wrap. Beyond 32 bits it becomes the largest
 * integer, which is no element either.
 */
function saturated(lowering: Lowering, array: AccessedArray, a: IntegerValue, b: IntegerValue): Index {
  requireLength(lowering, array, 2 ** 31);
  const [left, right] = [a, b].map(({ ir }) => lowering.hold(as("u32", ir)));
  const largest = literal("u32", 2 ** 32 - 1);
  const operation = (operator: "+" | "-", one: LoopExpression, other: LoopExpression): LoopExpression => ({
    kind: "binary",
    type: "u32",
    operator,
    left: one,
    right: other,
  });
  const test: LoopExpression = {
    kind: "binary",
    type: "bool",
    operator: ">",
    left: left!,
    right: operation("-", largest, right!),
  };
  const yes = largest;
  const no = operation("+", left!, right!);
  return { ir: { kind: "conditional", type: "u32", test, yes, no }, known: null };
}

function requireLength({ guards }: Lowering, { code, rows }: AccessedArray, most: number): void {
  guards.requireNotPositive(subtract(hostValue(rows?.length ?? `${code}.length`), constant(most)));
}
