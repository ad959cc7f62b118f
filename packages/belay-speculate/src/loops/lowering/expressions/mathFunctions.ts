import type { Node, Expression as Source } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { FloatType, LoopExpression, LoopOperator, MathFunction } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import {
  accuracyOf,
  chosen,
  computed,
  requireSameRounding,
  requireSpecified,
  stepped,
} from "../numbers/accuracy.ts";
import { asInteger, settled, toBits, toFloat, toSingle } from "../numbers/conversions.ts";
import { isNeverZero } from "../numbers/divisionRanges.ts";
import { commonType, exact, rangeOfInteger, rangeOfType } from "../numbers/exactIntegers.ts";
import { hostCall } from "../numbers/hostValues.ts";
import { zero as linearZero, maximum, minimum, scale } from "../numbers/linear.ts";
import { zeroOfExtreme, zeroOfQuotient, zeroOfSign } from "../numbers/minusZeros.ts";
import { recordUse } from "../numbers/scalarUses.ts";
import {
  type Accuracy,
  as,
  between,
  type FloatValue,
  type HostValue,
  type IntegerValue,
  int32,
  integer,
  isFloatConstant,
  type LoweredValue,
  literal,
  numbers,
  type PendingValue,
  sum,
  uint32,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { held, inOrder } from "./evaluationOrder.ts";
import { hypotenuse } from "./hypotenuse.ts";
import { binary, numeric } from "./operators.ts";

/** The smallest and largest numbers of arguments of each function. */
const counts: Readonly<Record<string, readonly [number, number]>> = {
  abs: [1, 1],
  ceil: [1, 1],
  floor: [1, 1],
  round: [1, 1],
  trunc: [1, 1],
  sign: [1, 1],
  sqrt: [1, 1],
  min: [1, 16],
  max: [1, 16],
  imul: [2, 2],
  clz32: [1, 1],
  exp: [1, 1],
  exp2: [1, 1],
  log: [1, 1],
  log2: [1, 1],
  pow: [2, 2],
  sin: [1, 1],
  cos: [1, 1],
  tan: [1, 1],
  asin: [1, 1],
  acos: [1, 1],
  atan: [1, 1],
  atan2: [2, 2],
  sinh: [1, 1],
  cosh: [1, 1],
  tanh: [1, 1],
  hypot: [1, 16],
  fround: [1, 1],
};

export const isMathFunction = (name: string) => Object.hasOwn(counts, name);

type Rounding = "floor" | "ceil" | "round" | "trunc";
const isRounding = (name: string): name is Rounding => ["floor", "ceil", "round", "trunc"].includes(name);

/** Translates a call of a function of Math. */
export function mathCall(
  lowering: Lowering,
  name: string,
  nodes: readonly Source[],
  node: Node,
): LoweredValue {
  const [least, most] = counts[name]!;
  if (nodes.length < least || nodes.length > most) {
    return refuse(
      loopError.unknownCall(`Math.${name}`, `takes ${least} arguments, found ${nodes.length}`, node),
    );
  }
  const usesBits = name === "imul" || name === "clz32";
  const args = inOrder(lowering, nodes).map((arg) => (usesBits ? arg : settled(lowering, arg, node)));
  const accuracies = args.map((arg) => accuracyOf(lowering, arg));
  if (args.every((arg): arg is HostValue => arg.kind === "host" && arg.type === "number")) {
    return hostCall(name, args);
  }
  const [first, second] = args as [LoweredValue, LoweredValue];
  switch (name) {
    case "fround":
      return roundedToSingle(lowering, first, node);
    case "imul":
      return integer(
        {
          kind: "call",
          type: "i32",
          callee: "imul",
          args: args.map((arg) => as("i32", toBits(lowering, arg, node))),
        },
        int32,
      );
    case "clz32": {
      const bits = as("u32", toBits(lowering, first, node));
      return integer({ kind: "call", type: "i32", callee: "clz32", args: [bits] }, between(0, 32));
    }
    case "pow":
      return binary(lowering, "**", first, second, node);
    case "min":
    case "max":
      return extreme(lowering, name, args, node);
  }
  if (first.kind === "pending" && isRounding(name)) return rounded(lowering, name, first, node);
  if (first.kind === "integer") {
    // An integer needs no rounding; the operation only turns undefined into a number.
    if (isRounding(name)) return numeric(lowering, first, node);
    if (name === "abs" || name === "sign") return magnitude(lowering, name, first);
  }
  const isExact = isRounding(name) || name === "abs" || name === "sign";
  if (name === "hypot" && lowering.floats === "f64") return hypotenuse(lowering, args, node);
  if (name === "sqrt") requireSameRounding(lowering, "`Math.sqrt`", node);
  else if (!isExact) requireSpecified(lowering, `\`Math.${name}\``, node);
  return {
    kind: "float",
    ir: {
      kind: "call",
      type: lowering.floats,
      callee: name as MathFunction,
      args: args.map((arg) => toFloat(lowering, arg, node)),
    },
    accuracy: accuracyOfCall(name, accuracies),
  };
}

/** Returns `Math.fround` of a value. */
export function roundedToSingle(lowering: Lowering, value: LoweredValue, node: Node): LoweredValue {
  if (value.kind === "host" && value.type === "number") return hostCall("fround", [value]);
  const accuracy = frounded(accuracyOf(lowering, value));
  return { kind: "float", ir: toSingle(lowering, value, node), accuracy };
}

export const floorOf = ({ ir, accuracy }: FloatValue): FloatValue => ({
  kind: "float",
  ir: { kind: "call", type: ir.type as FloatType, callee: "floor", args: [ir] },
  accuracy: stepped([accuracy]),
});

/**
 * Returns the accuracy after `Math.fround`. For a number that was rounded once, the result is that
 * for the number itself.
 */
const frounded = (accuracy: Accuracy): Accuracy => (accuracy === "other" ? "other" : "exact");

function accuracyOfCall(name: string, args: readonly Accuracy[]): Accuracy {
  if (name === "abs") return args[0]!;
  return isRounding(name) || name === "sign" ? stepped(args) : computed(args);
}

function extreme(
  lowering: Lowering,
  name: "min" | "max",
  args: readonly LoweredValue[],
  node: Node,
): IntegerValue | FloatValue {
  const areWhole = args.every(
    (arg) => arg.kind === "integer" || (arg.kind === "host" && !isFloatConstant(arg)),
  );
  if (!areWhole) {
    const floats = args.map((arg) => toFloat(lowering, arg, node));
    const accuracy = chosen(args.map((arg) => accuracyOf(lowering, arg)));
    return {
      kind: "float",
      ir: { kind: "call", type: lowering.floats, callee: name, args: floats },
      accuracy,
    };
  }
  const integers = args.map((arg) => asInteger(lowering, arg, node)!);
  const ranges = integers.map((one) => rangeOfInteger(lowering, one));
  const areUnsigned = integers.every(({ ir }) => ir.type === "u32");
  const type = commonType(lowering, ranges) ?? (areUnsigned ? "u32" : "i32");
  const pick = name === "min" ? minimum : maximum;
  const whole = ranges.reduce((one, other) => ({
    low: pick(one.low, other.low),
    high: pick(one.high, other.high),
  }));
  const held = rangeOfType(type);
  const range = lowering.guards.within(whole, held) === "never" ? held : whole;
  const make = (args: readonly LoopExpression[]): LoopExpression => ({
    kind: "call",
    type,
    callee: name,
    args: args.map((arg) => as(type, arg)),
  });
  const ir = make(integers.map((one) => exact(lowering, one, type)));
  return integer(ir, range, linearZero, zeroOfExtreme(lowering, name, integers, make));
}

function magnitude(lowering: Lowering, name: "abs" | "sign", value: IntegerValue): IntegerValue {
  const range = numbers(rangeOfInteger(lowering, value));
  const argument = exact(lowering, value, name === "sign" ? "i32" : undefined);
  const isPositive = lowering.guards.within(rangeOfInteger(lowering, value), uint32) === "known";
  if (argument.type === "u32" && isPositive) return { ...value, ir: argument, minusZero: undefined };
  const type = argument.type === "u32" ? "u32" : "i32";
  const make = (arg: LoopExpression): LoopExpression => ({
    kind: "call",
    type,
    callee: name,
    args: [as(type, arg)],
  });
  if (name === "sign") {
    return integer(make(argument), between(-1, 1), linearZero, zeroOfSign(lowering, value, make));
  }
  // The CPU takes the absolute value of an integer that bails out because it is negative.
  if (type === "u32") return integer(make(argument), uint32);
  return integer(make(argument), range ? between(0, Math.max(-range[0], range[1])) : between(0, 2 ** 31));
}

/**
 * Translates a rounded quotient of integers. Integer division rounds toward zero, so the other
 * directions add or subtract one if there is a remainder. Refuses a divisor that may be zero,
 * because the quotient may be no integer.
 */
function rounded(lowering: Lowering, name: Rounding, value: PendingValue, node: Node): IntegerValue {
  const [dividend, divisor] = value.operands.map((operand) => rangeOfInteger(lowering, operand));
  if (value.what !== "quotient" || name === "round" || !isNeverZero(lowering, divisor!)) {
    return refuse(
      loopError.inexactInteger("this may be no integer", node, "coerce it first, as in `(a / b) | 0`"),
    );
  }
  recordUse(lowering, value.ir, "integer");
  const type = value.ir.type as "i32" | "u32";
  const truncated = (callee: Rounding, quotient: LoopExpression): LoopExpression => ({
    kind: "call",
    type,
    callee,
    args: [quotient],
  });
  const isPositive = [dividend!, divisor!].every(
    ({ low }) => lowering.guards.state(scale(low, -1)) === "known",
  );
  if (name === "trunc" || (name === "floor" && isPositive)) {
    const make = (left: LoopExpression, right: LoopExpression) =>
      truncated(name, { ...value.ir, left: as(type, left), right: as(type, right) } as LoopExpression);
    const minusZero = zeroOfQuotient(lowering, value.operands, make);
    return integer(truncated(name, value.ir), value.coerced, linearZero, minusZero);
  }

  const quotient = held(lowering, value) as PendingValue;
  const { left, right } = quotient.ir as Extract<LoopExpression, { kind: "binary" }>;
  const zero = literal(type, 0);
  const test = (operator: LoopOperator, a: LoopExpression, b: LoopExpression): LoopExpression => ({
    kind: "binary",
    type: "bool",
    operator,
    left: a,
    right: b,
  });
  const remainder: LoopExpression = { kind: "binary", type, operator: "%", left, right };
  const signs = test(name === "floor" ? "!=" : "==", test("<", left, zero), test("<", right, zero));
  const correction: LoopExpression = {
    kind: "conditional",
    type,
    test: test("&&", test("!=", remainder, zero), signs),
    yes: literal(type, name === "floor" ? 1 : -1),
    no: zero,
  };
  const ir: LoopExpression = {
    kind: "binary",
    type,
    // `−0 - 0` is −0, while `−0 + 0` is 0.
    operator: "-",
    left: truncated("trunc", quotient.ir),
    right: correction,
  };
  const range = sum(value.coerced, name === "floor" ? between(-1, 0) : between(0, 1));
  return integer(
    ir,
    range,
    linearZero,
    zeroOfQuotient(lowering, quotient.operands, () => ir),
  );
}
