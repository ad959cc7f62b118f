/** `Math.hypot` of doubles, whose last bits ECMAScript leaves to each engine. */
import type { Node } from "oxc-parser";
import type { Lowering } from "../lowering.ts";
import { toBoolean, toFloat } from "../numbers/conversions.ts";
import { type FloatValue, hostConstant, type LoweredValue } from "../numbers/values.ts";
import { choice } from "./choices.ts";
import { held } from "./evaluationOrder.ts";
import { binary } from "./operators.ts";

/**
 * Some arguments, with what V8 gives for them. The last bits differ from those of the closest
 * double, and from those of engines that compute in another way.
 */
const samples = [
  [[7.4, 1], 7.467261881037789],
  [[7.7, 1.1], 7.778174593052023],
  [[5, 2], 5.385164807134505],
  [[2.3, 2.9], 3.701351104664349],
  [[6, 8.2], 10.160708636704431],
  [[5, 2, 7.7], 9.396275858019495],
] as const;

/**
 * Returns the root of the sum of squares as V8 computes it: arguments are divided by the largest
 * one, and their squares are added with Kahan's compensation. The host checks that its engine does
 * the same.
 */
export function hypotenuse(lowering: Lowering, args: readonly LoweredValue[], node: Node): LoweredValue {
  const check = samples.map(([values, result]) => `Math.hypot(${values.join(", ")}) === ${result}`);
  lowering.guards.require(`(${check.join(" && ")})`);
  const call = (callee: "abs" | "sqrt", value: LoweredValue): FloatValue => ({
    kind: "float",
    ir: { kind: "call", type: "f64", callee, args: [toFloat(lowering, value, node)] },
    accuracy: "exact",
  });
  const operate = (operator: string, left: LoweredValue, right: LoweredValue) =>
    held(lowering, binary(lowering, operator, left, right, node));
  const isTrue = (operator: string, left: LoweredValue, right: LoweredValue) =>
    toBoolean(lowering, binary(lowering, operator, left, right, node), node);
  const sizes = args.map((arg) => held(lowering, call("abs", arg)));
  const zero = hostConstant(0);
  const pick = (test: Parameters<typeof choice>[1], yes: () => LoweredValue, no: () => LoweredValue) =>
    held(lowering, choice(lowering, test, yes, no, node));
  // Comparisons leave NaN out.
  const largest = sizes.reduce<LoweredValue>(
    (most, size) =>
      pick(
        isTrue(">", size, most),
        () => size,
        () => most,
      ),
    zero,
  );
  const scaled = () => {
    let [sum, lost]: LoweredValue[] = [zero, zero];
    for (const size of sizes) {
      const quotient = operate("/", size, largest);
      const square = operate("-", operate("*", quotient, quotient), lost!);
      const total = operate("+", sum!, square);
      lost = operate("-", operate("-", total, sum!), square);
      sum = total;
    }
    return operate("*", call("sqrt", sum!), largest);
  };
  const isInfinite = isTrue("===", largest, hostConstant(Number.POSITIVE_INFINITY));
  return pick(
    isInfinite,
    () => largest,
    () =>
      pick(
        isTrue("===", largest, zero),
        // Zeros, or NaN.
        () => sizes.reduce<LoweredValue>((sum, size) => operate("+", sum, size), zero),
        scaled,
      ),
  );
}
