/** Writes the operators and conversions of WGSL on scalars, vectors and matrices. */
import type { BinaryOperator } from "../wgsl/ast.ts";
import type { ScalarType, Type } from "../wgsl/types.ts";
import type { CodeWriter } from "./codeWriter.ts";
import { cellCount, isFloat, type Scalar, type ScalarsValue, scalarOf } from "./values.ts";

/** Emits `-x`, `!x` or `~x`. */
export function emitUnary(code: CodeWriter, operator: "-" | "!" | "~", operand: ScalarsValue): ScalarsValue {
  const scalar = scalarOf(operand.type);
  const scalars = operand.scalars.map((x): Scalar => {
    if (isFloat(scalar)) return code.float(scalar, "neg", x);
    if (operator === "!") return [emitNot(code, x[0]!)];
    const text = `${operator}(${x[0]})${scalar.name === "u32" ? " >>> 0" : " | 0"}`;
    return [code.integer(`unary ${operator}`, [x[0]!], text)];
  });
  return { kind: "scalars", type: operand.type, scalars };
}

/** Emits the negation of a boolean. */
const emitNot = (code: CodeWriter, x: string): string => code.integer("!", [x], `1 - ${x}`);

/** Emits a binary operator other than `&&` and `||`, whose result has the given type. */
export function emitBinary(
  code: CodeWriter,
  operator: BinaryOperator,
  left: ScalarsValue,
  right: ScalarsValue,
  type: Type,
): ScalarsValue {
  if (operator === "*" && (left.type.kind === "matrix" || right.type.kind === "matrix")) {
    if (left.type.kind !== "scalar" && right.type.kind !== "scalar")
      return { kind: "scalars", type, scalars: emitProduct(code, left, right) };
  }
  const scalar = scalarOf(left.type);
  const count = Math.max(left.scalars.length, right.scalars.length);
  const at = ({ scalars }: ScalarsValue, i: number) => scalars[scalars.length === 1 ? 0 : i]!;
  const scalars = Array.from({ length: count }, (_, i) =>
    emitScalarBinary(code, operator, scalar, at(left, i), at(right, i)),
  );
  return { kind: "scalars", type, scalars };
}

function emitScalarBinary(
  code: CodeWriter,
  operator: BinaryOperator,
  type: ScalarType,
  a: Scalar,
  b: Scalar,
): Scalar {
  if (isFloat(type)) return emitFloatBinary(code, operator, type, a, b);
  const [x, y] = [a[0]!, b[0]!];
  const signed = type.name !== "u32";
  const operation = operator === ">>" && !signed ? ">>>" : operator;
  const emit = (text: string): Scalar => [code.integer(operation, [x, y], text)];
  const wrapped = (expression: string) => emit(signed ? `(${expression}) | 0` : `(${expression}) >>> 0`);
  switch (operator) {
    case "*":
      return wrapped(`Math.imul(${x}, ${y})`);
    case "/":
      return emit(`${code.library(signed ? "divideI32" : "divideU32")}(${x}, ${y})`);
    case "%":
      return emit(`${code.library(signed ? "remainderI32" : "remainderU32")}(${x}, ${y})`);
    case "==":
    case "!=":
      return emit(`${x} ${operator}= ${y} ? 1 : 0`);
    case "<":
    case "<=":
    case ">":
    case ">=":
      return emit(`${x} ${operator} ${y} ? 1 : 0`);
    case "-":
      return wrapped(`${x} - (${y})`);
    default:
      return wrapped(`${x} ${operation} ${y}`);
  }
}

function emitFloatBinary(
  code: CodeWriter,
  operator: BinaryOperator,
  type: ScalarType,
  a: Scalar,
  b: Scalar,
): Scalar {
  switch (operator) {
    case "+":
      return code.float(type, "add", a, b);
    case "-":
      return code.float(type, "sub", a, b);
    case "*":
      return code.float(type, "mul", a, b);
    case "/":
      return code.float(type, "div", a, b);
    case "%": {
      const quotient = code.float(type, "trunc", code.float(type, "div", a, b));
      const rest = code.float(type, "sub", a, code.float(type, "mul", b, quotient));
      return code.derived(type, "%", rest, [a, b]);
    }
    case "<":
      return code.floatTo(type, "lt", a, b);
    case "<=":
      return code.floatTo(type, "le", a, b);
    case ">":
      return code.floatTo(type, "lt", b, a);
    case ">=":
      return code.floatTo(type, "le", b, a);
    case "==":
      return code.floatTo(type, "eq", a, b);
    case "!=":
      return [emitNot(code, code.floatTo(type, "eq", a, b)[0]!)];
    default:
      throw new TypeError(`floats have no operator ${operator}`);
  }
}

/** Emits the product of two matrices, or of a matrix and a vector. */
function emitProduct(code: CodeWriter, left: ScalarsValue, right: ScalarsValue): Scalar[] {
  const scalar = scalarOf(left.type);
  // A vector on the left is a row, on the right a column.
  const rows = left.type.kind === "matrix" ? left.type.rows : 1;
  const inner = left.scalars.length / rows;
  const columns = right.scalars.length / inner;
  return Array.from({ length: columns * rows }, (_, i) => {
    const [column, row] = [Math.floor(i / rows), i % rows];
    const products = Array.from({ length: inner }, (_, k) =>
      code.float(scalar, "mul", left.scalars[k * rows + row]!, right.scalars[column * inner + k]!),
    );
    return products.reduce((sum, product) => code.float(scalar, "add", sum, product));
  });
}

/** Emits the conversion of a scalar to another scalar type. */
export function emitConversion(code: CodeWriter, value: Scalar, from: ScalarType, to: ScalarType): Scalar {
  if (from.name === to.name) return value;
  if (isFloat(from)) {
    if (isFloat(to)) return code.float(to, "from", value);
    if (to.name === "i32") return code.floatTo(from, "toI32", value);
    if (to.name === "u32") return code.floatTo(from, "toU32", value);
    return [emitNot(code, code.floatTo(from, "eq", value, code.number(from, 0))[0]!)];
  }
  if (isFloat(to)) return code.float(to, "fromInteger", value);
  const operand = [value[0]!];
  if (to.name === "bool") return [code.integer("!=", operand, `${value[0]} !== 0 ? 1 : 0`)];
  return [code.integer("same", operand, `${value[0]} ${to.name === "u32" ? ">>> 0" : "| 0"}`)];
}

/** Emits a constructor of a scalar, vector or matrix type from values of such types. */
export function emitConstructor(code: CodeWriter, type: Type, args: readonly ScalarsValue[]): ScalarsValue {
  if (args.length === 0) return code.zero(type);
  const to = scalarOf(type);
  const count = cellCount(type);
  const scalars = args.flatMap((arg) =>
    arg.scalars.map((each) => emitConversion(code, each, scalarOf(arg.type), to)),
  );
  return {
    kind: "scalars",
    type,
    scalars: scalars.length === 1 ? Array.from({ length: count }, () => scalars[0]!) : scalars,
  };
}

/** Emits a reinterpretation of the bits of a value. */
export function emitBitcast(code: CodeWriter, value: ScalarsValue, type: Type): ScalarsValue {
  const [from, to] = [scalarOf(value.type), scalarOf(type)];
  if (from.name === to.name) return { ...value, type };
  const isHalf = (scalar: ScalarType) => scalar.name === "f16";
  const patterns = value.scalars.map((each) =>
    isFloat(from) ? code.floatTo(from, "toBits", each)[0]! : each[0]!,
  );
  const words = isHalf(from)
    ? Array.from({ length: patterns.length / 2 }, (_, i) =>
        code.temp(`(${patterns[2 * i]} | (${patterns[2 * i + 1]} << 16)) >>> 0`),
      )
    : patterns;
  const parts = isHalf(to)
    ? words.flatMap((word) => [
        code.integer("&", [word, "0xffff"], `${word} & 0xffff`),
        code.integer(">>>", [word, "16"], `${word} >>> 16`),
      ])
    : words;
  const scalars = parts.map((part): Scalar => {
    if (isFloat(to)) return code.float(to, "fromBits", [part]);
    return [code.integer("same", [part], `${part} ${to.name === "u32" ? ">>> 0" : "| 0"}`)];
  });
  return { kind: "scalars", type, scalars };
}
