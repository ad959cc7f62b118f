/**
 * Integers that may be −0 in JavaScript. Their bits are those of 0, so a boolean beside them says
 * which zero it is. It is computed only where the two differ: for division, `Math.atan2`, and a
 * `Float32Array`. Numbers from outside are not −0; the host checks that.
 */
import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { BodyStatement, LoopExpression, LoopOperator } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { refuse } from "../refusal.ts";
import type { Variable } from "../variables.ts";
import { refuseWithoutDoubles } from "./accuracy.ts";
import { exact, rangeOfInteger } from "./exactIntegers.ts";
import { constant, scale, subtract } from "./linear.ts";
import { as, boolean, type IntegerValue, literal, type Signed } from "./values.ts";

/** An evaluated operand, with the parts of its sign. */
interface Operand extends Signed {
  readonly isZero: () => LoopExpression;
  /** Returns an expression that is true if the operand is negative or −0. */
  readonly isMinus: () => LoopExpression;
}

type Zero = IntegerValue["minusZero"];

/** Evaluates an integer and whether it is −0. */
export function signed(lowering: Lowering, value: IntegerValue): Signed {
  return value.minusZero?.() ?? { ir: lowering.hold(value.ir), isMinusZero: boolean(false) };
}

/** Returns the zero of a negated integer; undefined if it cannot be −0. */
export function zeroOfNegated(
  lowering: Lowering,
  value: IntegerValue,
  make: (ir: LoopExpression) => LoopExpression,
): Zero {
  if (!mayBeZero(lowering, value)) return undefined;
  return computed(
    lowering,
    [value],
    ([ir]) => make(ir!),
    ([one]) => and(one!.isZero(), not(one!.isMinusZero)),
  );
}

/**
 * Returns the zero of a sum or difference. A sum is −0 if both sides are −0. A difference is −0 if
 * 0 is subtracted from −0.
 */
export function zeroOfSum(
  lowering: Lowering,
  operator: "+" | "-",
  operands: readonly [IntegerValue, IntegerValue],
  make: (left: LoopExpression, right: LoopExpression) => LoopExpression,
): Zero {
  const [a, b] = operands;
  if (!a.minusZero || !(operator === "+" ? b.minusZero : mayBeZero(lowering, b))) return undefined;
  return computed(
    lowering,
    operands,
    ([left, right]) => make(left!, right!),
    ([left, right]) =>
      operator === "+"
        ? and(left!.isMinusZero, right!.isMinusZero)
        : and(left!.isMinusZero, and(right!.isZero(), not(right!.isMinusZero))),
  );
}

/** Returns the zero of a product. It is −0 if one factor is a zero and the signs differ. */
export function zeroOfProduct(
  lowering: Lowering,
  operands: readonly [IntegerValue, IntegerValue],
  make: (left: LoopExpression, right: LoopExpression) => LoopExpression,
): Zero {
  const mayBeMinus = (one: IntegerValue, other: IntegerValue) =>
    mayBeZero(lowering, one) && (one.minusZero || other.minusZero || mayBeNegative(lowering, other));
  const [a, b] = operands;
  if (!mayBeMinus(a, b) && !mayBeMinus(b, a)) return undefined;
  return computed(
    lowering,
    operands,
    ([left, right]) => make(left!, right!),
    ([left, right]) =>
      and(or(left!.isZero(), right!.isZero()), test("!=", left!.isMinus(), right!.isMinus())),
  );
}

/** Returns the zero of a remainder, which has the sign of its dividend. */
export function zeroOfRemainder(
  lowering: Lowering,
  operands: readonly [IntegerValue, IntegerValue],
  make: (left: LoopExpression, right: LoopExpression) => LoopExpression,
): Zero {
  const [dividend] = operands;
  if (!dividend.minusZero && !mayBeNegative(lowering, dividend)) return undefined;
  return computed(
    lowering,
    operands,
    ([left, right]) => make(left!, right!),
    ([left], result) => and(isZero(result), left!.isMinus()),
  );
}

/** Returns the zero of a rounded quotient, which has the sign of the exact quotient. */
export function zeroOfQuotient(
  lowering: Lowering,
  operands: readonly [IntegerValue, IntegerValue],
  make: (left: LoopExpression, right: LoopExpression) => LoopExpression,
): Zero {
  if (!operands.some((one) => one.minusZero || mayBeNegative(lowering, one))) return undefined;
  return computed(
    lowering,
    operands,
    ([left, right]) => make(left!, right!),
    ([left, right], ir) => and(isZero(ir), test("!=", left!.isMinus(), right!.isMinus())),
  );
}

/** Returns the zero of a minimum or maximum. Of two zeros, −0 is the smaller. */
export function zeroOfExtreme(
  lowering: Lowering,
  name: "min" | "max",
  operands: readonly IntegerValue[],
  make: (operands: readonly LoopExpression[]) => LoopExpression,
): Zero {
  const mayBeMinus = (one: IntegerValue) => one.minusZero !== undefined;
  const isPossible =
    operands.some(mayBeMinus) &&
    (name === "min" || operands.every((one) => mayBeMinus(one) || mayBeNegative(lowering, one)));
  if (!isPossible) return undefined;
  return computed(lowering, operands, make, (parts, result) =>
    and(
      isZero(result),
      name === "min"
        ? parts.map(({ isMinusZero }) => isMinusZero).reduce(or)
        : parts.map(({ isMinus }) => isMinus()).reduce(and),
    ),
  );
}

/** Returns the zero of `Math.sign`, which keeps zeros. */
export function zeroOfSign(
  lowering: Lowering,
  value: IntegerValue,
  make: (ir: LoopExpression) => LoopExpression,
): Zero {
  if (!value.minusZero) return undefined;
  return computed(
    lowering,
    [value],
    ([ir]) => make(ir!),
    ([one]) => one!.isMinusZero,
  );
}

/** Returns the zero of a choice between two integers, each after the statements of its branch. */
export function zeroOfChoice(
  lowering: Lowering,
  type: "i32" | "u32",
  condition: LoopExpression,
  yes: readonly [readonly BodyStatement[], IntegerValue],
  no: readonly [readonly BodyStatement[], IntegerValue],
): Zero {
  if (!yes[1].minusZero && !no[1].minusZero) return undefined;
  return () => {
    const [ir, isMinusZero] = [lowering.newLocal(type), lowering.newLocal("bool")];
    const arm = ([statements, value]: typeof yes) =>
      lowering.collect(() => {
        lowering.block.push(...statements);
        const chosen = signed(lowering, value);
        lowering.emit({ kind: "assign", name: ir.name, value: as(type, chosen.ir) });
        lowering.emit({ kind: "assign", name: isMinusZero.name, value: chosen.isMinusZero });
      });
    lowering.emit({ kind: "if", test: condition, yes: arm(yes), no: arm(no) });
    return { ir, isMinusZero };
  };
}

/** Returns the zero of an integer variable at the place where it is read. */
export function zeroOfVariable(lowering: Lowering, variable: Variable, ir: LoopExpression): Zero {
  if (!variable.mayBeMinusZero) return undefined;
  return () => {
    const name = lowering.variables.zeroOf(variable);
    lowering.variables.observeZero(variable);
    return { ir, isMinusZero: { kind: "local", type: "bool", name } };
  };
}

/**
 * Refuses an integer that may be −0 for a variable that iterations share. Such a variable keeps the
 * bits only.
 */
export function refuseMinusZero(lowering: Lowering, name: string, value: IntegerValue, node: Node): void {
  lowering.observesZeros = true;
  if (!value.minusZero) return;
  const reason = `\`${name}\` may become −0, and integers that go from iteration to iteration have one zero`;
  const help = "coerce the value, as in `(a * b) | 0`, which is never −0";
  if (lowering.floats === "f32") refuseWithoutDoubles(lowering, reason, node, help);
  refuse(loopError.inexactInteger(reason, node, help));
}

/** Computes an integer and its zero from operands that are evaluated once. */
function computed(
  lowering: Lowering,
  operands: readonly IntegerValue[],
  make: (operands: readonly LoopExpression[]) => LoopExpression,
  isMinusZero: (operands: readonly Operand[], result: LoopExpression) => LoopExpression,
): () => Signed {
  return () => {
    const parts = operands.map((value): Operand => {
      const part = signed(lowering, value);
      const whole = () => exact(lowering, { ...value, ir: part.ir, minusZero: undefined });
      const isNegative = () => {
        const ir = whole();
        return ir.type === "i32" && mayBeNegative(lowering, value)
          ? test("<", ir, literal("i32", 0))
          : boolean(false);
      };
      return {
        ...part,
        isZero: () => (mayBeZero(lowering, value) ? isZero(whole()) : boolean(false)),
        isMinus: () => or(isNegative(), part.isMinusZero),
      };
    });
    const ir = lowering.hold(make(parts.map((part) => part.ir)));
    return { ir, isMinusZero: lowering.hold(isMinusZero(parts, ir)) };
  };
}

function mayBeZero(lowering: Lowering, value: IntegerValue): boolean {
  const { low, high } = rangeOfInteger(lowering, value);
  const isNever = [subtract(constant(1), low), subtract(high, constant(-1))];
  return isNever.every((bound) => lowering.guards.state(bound) !== "known");
}

function mayBeNegative(lowering: Lowering, value: IntegerValue): boolean {
  return lowering.guards.state(scale(rangeOfInteger(lowering, value).low, -1)) !== "known";
}

const test = (operator: LoopOperator, left: LoopExpression, right: LoopExpression): LoopExpression => ({
  kind: "binary",
  type: "bool",
  operator,
  left,
  right,
});

const isZero = (ir: LoopExpression) => test("==", ir, literal(ir.type as "i32" | "u32", 0));
const isLiteral = (ir: LoopExpression, value: boolean) =>
  ir.kind === "literal" && ir.type === "bool" && Boolean(ir.value) === value;

function and(left: LoopExpression, right: LoopExpression): LoopExpression {
  if (isLiteral(left, false) || isLiteral(right, true)) return left;
  return isLiteral(left, true) || isLiteral(right, false) ? right : test("&&", left, right);
}

function or(left: LoopExpression, right: LoopExpression): LoopExpression {
  if (isLiteral(left, true) || isLiteral(right, false)) return left;
  return isLiteral(left, false) || isLiteral(right, true) ? right : test("||", left, right);
}

function not(operand: LoopExpression): LoopExpression {
  if (operand.kind === "literal") return boolean(!operand.value);
  return { kind: "unary", type: "bool", operator: "!", operand };
}
