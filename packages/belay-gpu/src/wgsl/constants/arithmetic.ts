/**
 * Evaluates operators. Source: WGSL specification, "Logical", "Arithmetic", "Comparison" and "Bit
 * Expressions".
 */
import type { BinaryOperator, UnaryOperator } from "../ast.ts";
import { matrixType } from "../conversion.ts";
import type { MatrixType, ScalarType, Type } from "../types.ts";
import type { ScalarValue, Value } from "../values.ts";
import { componentwise, composite, elements, vector } from "./components.ts";
import { type Folded, folded, noValue } from "./folded.ts";
import { bool, float, integer, integerOf, isFloat, numberOf, scalar, wrappedInteger } from "./scalars.ts";

/** Evaluates `-`, `!` or `~`. The operand has the parameter type of the chosen overload. */
export function foldUnary(operator: UnaryOperator, operand: Value, resultType: Type): Folded {
  return folded(() => componentwise(resultType, [operand], ([x], type) => unaryScalar(operator, x!, type)));
}

/**
 * Evaluates a binary operator. The operands have the parameter types of the chosen overload. `&&`
 * and `||` evaluate both operands here; the caller implements the short circuit.
 */
export function foldBinary(operator: BinaryOperator, left: Value, right: Value, resultType: Type): Folded {
  return folded(() => binary(operator, left, right, resultType));
}

/** Evaluates a binary operator inside another evaluation. */
export function binary(operator: BinaryOperator, left: Value, right: Value, type: Type): Value {
  if (operator === "*") {
    const kinds = `${left.type.kind} * ${right.type.kind}`;
    if (kinds === "vector * matrix") return dots(elements(right), left);
    if (kinds === "matrix * vector") return dots(elements(transpose(left)), right);
    if (kinds === "matrix * matrix") {
      const rows = elements(transpose(left));
      return composite(
        asMatrix(type),
        elements(right).map((column) => dots(rows, column)),
      );
    }
  }
  return componentwise(type, [left, right], ([a, b], element) => binaryScalar(operator, a!, b!, element));
}

function unaryScalar(operator: UnaryOperator, x: ScalarValue, type: ScalarType): ScalarValue {
  if (operator === "!") return bool(!x.value);
  if (isFloat(type)) return float(type, -numberOf(x));
  const exact = integerOf(x);
  // The negation of the lowest integer is that integer, also for AbstractInt.
  return wrappedInteger(type, operator === "~" ? ~exact : -exact);
}

const comparisons: Partial<
  Record<BinaryOperator, (a: ScalarValue["value"], b: ScalarValue["value"]) => boolean>
> = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

function binaryScalar(
  operator: BinaryOperator,
  left: ScalarValue,
  right: ScalarValue,
  type: ScalarType,
): ScalarValue {
  const comparison = comparisons[operator];
  if (comparison !== undefined) return bool(comparison(left.value, right.value));
  if (typeof left.value === "boolean" && typeof right.value === "boolean") {
    return bool(operator.startsWith("&") ? left.value && right.value : left.value || right.value);
  }
  if (isFloat(type)) return float(type, floatArithmetic(operator, numberOf(left), numberOf(right), type));
  return integerArithmetic(operator, integerOf(left), integerOf(right), type);
}

// A double has more than twice the bits of f32 and f16, so rounding its result again is correct
// rounding.
function floatArithmetic(operator: BinaryOperator, a: number, b: number, type: ScalarType): number {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return b === 0 ? noValue("division by zero") : a / b;
    case "%":
      return b === 0 ? noValue("division by zero") : remainder(a, b, type);
    default:
      throw new TypeError(`${operator} does not apply to floating-point values`);
  }
}

/**
 * Returns the remainder by the specification's formula. For f16, it is computed in f32, whose
 * quotient cannot overflow.
 */
function remainder(a: number, b: number, type: ScalarType): number {
  const round = type.name === "abstract-float" ? (x: number) => x : Math.fround;
  return a - round(b * Math.trunc(round(a / b)));
}

function integerArithmetic(operator: BinaryOperator, a: bigint, b: bigint, type: ScalarType): ScalarValue {
  // Concrete integers wrap; AbstractInt overflows.
  const result = type.name === "abstract-int" ? integer : wrappedInteger;
  switch (operator) {
    case "+":
      return result(type, a + b);
    case "-":
      return result(type, a - b);
    case "*":
      return result(type, a * b);
    case "/":
      return quotient(type, a, b);
    case "%":
      // The remainder of the lowest integer by -1 is an error because the quotient overflows.
      quotient(type, a, b);
      return integer(type, a % b);
    case "&":
      return integer(type, a & b);
    case "|":
      return integer(type, a | b);
    case "^":
      return integer(type, a ^ b);
    case "<<":
      return shift(type, a, b, (amount) => a << amount);
    case ">>":
      return shift(type, a, b, (amount) => a >> amount);
    default:
      throw new TypeError(`${operator} does not apply to integers`);
  }
}

function quotient(type: ScalarType, a: bigint, b: bigint): ScalarValue {
  return b === 0n ? noValue("division by zero") : integer(type, a / b);
}

/**
 * Returns a shifted integer, or an error if significant bits are lost. Only an AbstractInt may be
 * shifted by its width or more.
 */
function shift(type: ScalarType, value: bigint, amount: bigint, by: (amount: bigint) => bigint): ScalarValue {
  if (type.name !== "abstract-int" && amount >= 32n) noValue("shift amount is not less than 32");
  return value === 0n ? integer(type, 0n) : integer(type, by(amount < 64n ? amount : 64n));
}

/** Returns the sum of the products of two vectors' components, rounded after each operation. */
export function dot(left: Value, right: Value): ScalarValue {
  const others = elements(right).map(scalar);
  return elements(left)
    .map((x, i) => binaryScalar("*", scalar(x), others[i]!, others[i]!.type))
    .reduce((sum, product) => binaryScalar("+", sum, product, sum.type));
}

/** Returns the vector of the dot products of several vectors with one. */
function dots(vectors: readonly Value[], by: Value): Value {
  return vector(vectors.map((each) => dot(each, by)));
}

function asMatrix(type: Type): MatrixType {
  if (type.kind !== "matrix") throw new TypeError("expected a matrix type");
  return type;
}

/** Returns the matrix whose columns are the rows of `matrix`. */
export function transpose(matrix: Value): Value {
  const columns = elements(matrix);
  const { element, columns: width, rows } = asMatrix(matrix.type);
  return composite(
    matrixType(rows, width, element),
    Array.from({ length: rows }, (_, row) => vector(columns.map((column) => scalar(elements(column)[row])))),
  );
}
