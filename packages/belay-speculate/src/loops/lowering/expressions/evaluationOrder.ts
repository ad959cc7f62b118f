/** Keeps the order in which operands are evaluated. */
import type { Expression as Source } from "oxc-parser";
import type { NumberType } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { exact } from "../numbers/exactIntegers.ts";
import type { IntegerValue, LoweredValue } from "../numbers/values.ts";

/**
 * Translates operands from left to right. Values that a later operand might change are held in
 * locals.
 */
export function inOrder(lowering: Lowering, nodes: readonly Source[]): LoweredValue[] {
  const values: LoweredValue[] = [];
  for (const node of nodes) {
    const value = afterwards(
      lowering,
      () => lowering.expression(node),
      () => {
        for (const [at, earlier] of values.entries()) values[at] = held(lowering, earlier);
      },
    );
    values.push(value);
  }
  return values;
}

/**
 * Translates an operand that is evaluated after others. If it has effects, `holdEarlier` is called
 * to hold the others before them.
 */
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

function heldInteger(lowering: Lowering, value: IntegerValue): IntegerValue {
  if (!value.minusZero) return { ...value, ir: lowering.hold(value.ir) };
  const { ir, isMinusZero } = value.minusZero();
  const kept = { ir: lowering.hold(ir), isMinusZero: lowering.hold(isMinusZero) };
  return { ...value, ir: kept.ir, minusZero: () => kept };
}

/** Holds a value in a local and returns it. */
export function held(lowering: Lowering, value: LoweredValue): LoweredValue {
  if (value.kind === "host") return value;
  if (value.kind === "integer") return heldInteger(lowering, value);
  if (value.kind !== "pending") return { ...value, ir: lowering.hold(value.ir) };
  const { ir } = value;
  if (ir.kind !== "binary") throw new Error("what is pending is the result of an operator");
  const [a, b] = value.operands.map((operand) => heldInteger(lowering, operand));
  // The result depends on all bits of both.
  const [left, right] = [
    exact(lowering, a!, ir.left.type as NumberType),
    exact(lowering, b!, ir.right.type as NumberType),
  ];
  return { ...value, ir: { ...ir, left, right }, operands: [a!, b!] };
}
