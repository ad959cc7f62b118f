import type { FloatType, LoopExpression, NumberType, ValueType } from "../../tree/ir.ts";
import { isLoad, operandsOf, someExpression } from "../../tree/walk.ts";
import { fromBits, fromVariable, toBits, toVariable, variableType, wgslName, zero } from "./names.ts";

/**
 * The target of the statements that must run before an expression, and of names for their results.
 */
export interface StatementTarget {
  line(text: string): void;
  /** Returns a name that the body does not use yet. */
  temporary(): string;
}

/**
 * Returns the WGSL of an expression. It writes statements that must run first to the target. WGSL
 * has no conditional expression that evaluates one side only, and a side that loads an element must
 * not be evaluated for nothing.
 */
export function emitExpression(expression: LoopExpression, target: StatementTarget): string {
  const emit = (operand: LoopExpression) => emitExpression(operand, target);
  switch (expression.kind) {
    case "literal":
      if (expression.checked) return `inexact_${expression.type}()`;
      return emitLiteral(expression.type, expression.value);
    case "index":
      return "index";
    case "local":
      return fromVariable(expression.type, `v_${wgslName(expression.name)}`);
    case "input":
      return `params.input_${wgslName(expression.name)}`;
    case "carried":
      return fromBits(expression.type, `load_carried_${wgslName(expression.name)}()`);
    case "length":
      return `i32(params.length_${wgslName(expression.array)})`;
    case "load": {
      const element = elementOf(expression.index, emit(expression.index));
      const get = expression.inside ? "take" : "get";
      return `${get}_${wgslName(expression.array)}_${expression.type}(${element})`;
    }
    case "unary": {
      const operand = emitOpaque(expression.operand, target);
      if (expression.checked) return `checked_negate_${expression.type}(${operand})`;
      if (expression.operator === "-" && expression.type === "u32") return `(0u - ${operand})`;
      if (expression.operator === "-" && isFloat(expression.type))
        return `negate_${expression.type}(${operand})`;
      return `(${expression.operator}${operand})`;
    }
    case "binary":
      return emitBinary(expression, target);
    case "conditional": {
      if (!needsStatements(expression)) {
        const select = expression.type === "f32" ? "select_f32" : "select";
        return `${select}(${emit(expression.no)}, ${emit(expression.yes)}, ${emit(expression.test)})`;
      }
      const result = target.temporary();
      target.line(`var ${result}: ${variableType(expression.type)};`);
      emitChoice(expression, result, target);
      return fromVariable(expression.type, result);
    }
    case "call":
      return emitCall(expression, target);
    case "convert": {
      const { type, operand, checked } = expression;
      const text = emitOpaque(operand, target);
      return checked && type !== operand.type
        ? `checked_convert_${type}(${text})`
        : convert(operand.type, type, text);
    }
  }
}

/**
 * Returns the element, as a u32, that an index of some type names. An index that names none gives
 * an element outside every array.
 */
export function elementOf(index: LoopExpression, text: string): string {
  switch (index.type) {
    case "f32":
    case "f64":
      return `element_of_${index.type}(${text})`;
    case "u32":
      return text;
    default:
      return `bitcast<u32>(${text})`;
  }
}

/** Returns a value converted to another type by JavaScript's rules. */
export function convert(from: ValueType, to: ValueType, text: string): string {
  if (from === to) return text;
  if (to === "bool") return isFloat(from) ? `is_true_${from}(${text})` : `(${text} != ${zero(from)})`;
  if (to === "f64") return from === "bool" ? `f64_of_u32(u32(${text}))` : `f64_of_${from}(${text})`;
  if (from === "bool") return `${to}(${text})`;
  if (to === "f32") return from === "f64" ? `f32_of_f64(${text})` : `f32(${text})`;
  return fromBits(to, isFloat(from) ? `wrap_${from}(${text})` : toBits(from, text));
}

const isFloat = (type: ValueType): type is FloatType => type === "f32" || type === "f64";

/** Returns a literal of any value of the type, including NaN and infinities. */
export function emitLiteral(type: ValueType, value: number | string): string {
  switch (type) {
    case "bool":
      return value ? "true" : "false";
    case "u32":
      return `${Number(value) >>> 0}u`;
    case "i32": {
      const integer = Number(value) | 0;
      return integer < 0 ? `i32(${integer})` : `${integer}i`;
    }
    case "f32": {
      const rounded = Math.fround(Number(value));
      const magnitude = Math.abs(rounded);
      const bits = `0x${new Uint32Array(Float32Array.of(rounded).buffer)[0]!.toString(16)}u`;
      if (magnitude === Infinity || Number.isNaN(rounded) || Object.is(rounded, -0))
        return `f32_of_bits(${bits})`;
      if (magnitude !== 0 && (magnitude < 2 ** -126 || magnitude > 2 ** 126)) return `hidden_f32(${bits})`;
      return rounded < 0 ? `(${rounded}f)` : `${rounded}f`;
    }
    case "f64": {
      const [low, high] = new Uint32Array(Float64Array.of(Number(value)).buffer);
      return `vec2u(0x${low!.toString(16)}u, 0x${high!.toString(16)}u)`;
    }
  }
}

type Binary = Extract<LoopExpression, { kind: "binary" }>;

function emitBinary(expression: Binary, target: StatementTarget): string {
  const { operator, left, right, type } = expression;
  if (operator === "&&" || operator === "||") return emitLogical(expression, target);

  const a = isConstant(left) && isConstant(right) ? emitOpaque(left, target) : emitExpression(left, target);
  const b = emitExpression(right, target);
  const integer = type === "i32" || type === "u32";
  if (isFloat(left.type) && type === "bool") return compareFloats(left.type, operator, a, b);
  if (type === "f64") return `${doubleNames[operator]}_f64(${a}, ${b})`;
  if (type === "f32") {
    if (operator === "%") return `remainder_f32(${a}, ${b})`;
    const divisor = constantOf(right);
    const simplified = withConstant(operator, constantOf(left), a, divisor, b);
    if (simplified) return simplified;
    if (operator === "/" && !(Math.abs(divisor ?? Number.NaN) <= 2 ** 126)) {
      return `quotient_f32(${a}, ${b})`;
    }
    return expression.rounded ? `rounded_f32(${a} ${operator} ${b})` : `(${a} ${operator} ${b})`;
  }
  const checked = expression.checked && checkedNames[operator];
  if (checked) return `checked_${checked}_${type}(${a}, ${b})`;
  switch (operator) {
    case "/":
    case "%":
      if (!integer) break;
      return `${operator === "/" ? "divide" : "remainder"}_${type}(${a}, ${b})`;
    case "*":
      if (!integer || expression.small || isSmall(left) || isSmall(right)) break;
      return `multiply_${type}(${a}, ${b})`;
    case "<<":
    case ">>":
    case ">>>": {
      // The left operand shifts as the type to which JavaScript converts it.
      const shifted = operator === ">>>" ? "u32" : "i32";
      const by = `(${convert(right.type, "u32", b)} & 31u)`;
      const result = `(${convert(left.type, shifted, a)} ${operator === "<<" ? "<<" : ">>"} ${by})`;
      return convert(shifted, type, result);
    }
  }
  return `(${a} ${operator} ${b})`;
}

const doubleNames: Readonly<Record<string, string>> = {
  "+": "add",
  "-": "subtract",
  "*": "multiply",
  "/": "divide",
  "%": "remainder",
};

/** The functions for integers that bail out unless the result is exact. */
const checkedNames: Readonly<Record<string, string>> = {
  "+": "add",
  "-": "subtract",
  "*": "multiply",
  "%": "remainder",
};

/** Returns an operand's value if a driver can know it; undefined otherwise. */
function constantOf(operand: LoopExpression): number | undefined {
  if (operand.kind === "literal" && operand.type !== "bool") return Number(operand.value);
  if (operand.kind === "convert") return constantOf(operand.operand);
  if (operand.kind !== "unary" || operand.operator !== "-") return undefined;
  const negated = constantOf(operand.operand);
  return negated === undefined ? undefined : -negated;
}

/**
 * Returns an operation of floats with a constant that a driver would simplify wrongly. A driver may
 * assume that the other side is no NaN, no infinity and not −0. Undefined if there is no such
 * constant.
 */
function withConstant(
  operator: string,
  left: number | undefined,
  a: string,
  right: number | undefined,
  b: string,
): string | undefined {
  const isInfinite = Math.abs(right ?? 0) === Number.POSITIVE_INFINITY;
  if (operator === "*" && right === 0) return `times_zero_f32(${a}, ${b})`;
  if (operator === "*" && left === 0) return `times_zero_f32(${b}, ${a})`;
  if (operator === "/" && isInfinite) return `times_zero_f32(${a}, ${b})`;
  if (operator === "/" && left === 0) return `zero_over_f32(${a}, ${b})`;
  if (operator === "-" && Object.is(right, -0)) return `plus_zero_f32(${a})`;
  if (operator === "-" && Object.is(left, 0)) return `plus_zero_f32(negate_f32(${b}))`;
  if (operator === "+" && Object.is(right, 0)) return `plus_zero_f32(${a})`;
  if (operator === "+" && Object.is(left, 0)) return `plus_zero_f32(${b})`;
  return undefined;
}

/** Returns the comparison of two values of a number type. */
export function compare(type: NumberType, operator: string, a: string, b: string): string {
  return isFloat(type) ? compareFloats(type, operator, a, b) : `(${a} ${operator} ${b})`;
}

function compareFloats(type: FloatType, operator: string, a: string, b: string): string {
  switch (operator) {
    case "==":
      return `equal_${type}(${a}, ${b})`;
    case "!=":
      return `!equal_${type}(${a}, ${b})`;
    case "<":
      return `less_${type}(${a}, ${b})`;
    case ">":
      return `less_${type}(${b}, ${a})`;
    case "<=":
      return `at_most_${type}(${a}, ${b})`;
    case ">=":
      return `at_most_${type}(${b}, ${a})`;
    default:
      throw new Error(`no comparison of floats with ${operator}`);
  }
}

function emitLogical({ operator, left, right }: Binary, target: StatementTarget): string {
  if (!needsStatements(right)) {
    return `(${emitExpression(left, target)} ${operator} ${emitExpression(right, target)})`;
  }
  const result = target.temporary();
  target.line(`var ${result} = ${emitExpression(left, target)};`);
  target.line(`if (${operator === "&&" ? "" : "!"}${result}) {`);
  target.line(`${result} = ${emitExpression(right, target)};`);
  target.line("}");
  return result;
}

type Conditional = Extract<LoopExpression, { kind: "conditional" }>;

/** Writes a choice to the variable `result`, which has the `variableType` of the choice. */
function emitChoice({ type, test, yes, no }: Conditional, result: string, target: StatementTarget): void {
  target.line(`if (${emitExpression(test, target)}) {`);
  target.line(`${result} = ${toVariable(type, emitExpression(yes, target))};`);
  target.line("} else {");
  target.line(`${result} = ${toVariable(type, emitExpression(no, target))};`);
  target.line("}");
}

type Call = Extract<LoopExpression, { kind: "call" }>;

/**
 * The functions of floats. The library has one for each that gives JavaScript's results for
 * infinities, zeros and NaN.
 */
const ofFloats = new Set<string>(
  "sqrt exp exp2 log log2 pow sin cos tan asin acos atan atan2 sinh cosh tanh".split(" "),
);

function emitCall({ callee, args, type }: Call, target: StatementTarget): string {
  const emit = args.every(isConstant) ? emitOpaque : emitExpression;
  const texts = args.map((arg) => emit(arg, target));
  const fold = (name: string) => texts.reduce((a, b) => `${name}(${a}, ${b})`);
  switch (callee) {
    case "imul":
      return fromBits(type, `(${args.map((arg, i) => convert(arg.type, "u32", texts[i]!)).join(" * ")})`);
    case "clz32":
      return convert("u32", type, `countLeadingZeros(${convert(args[0]!.type, "u32", texts[0]!)})`);
    case "double":
      return `vec2u(${texts.join(", ")})`;
    case "low":
      return `${texts[0]}.x`;
    case "high":
      return `${texts[0]}.y`;
    case "lowWord":
    case "highWord":
      return `word_of_element(${elementOf(args[0]!, texts[0]!)}, ${callee === "lowWord" ? 0 : 1}u)`;
    case "min":
    case "max":
      return fold(isFloat(type) ? `${callee}_${type}` : callee);
    case "hypot":
      return texts.length === 1 ? `abs_f32(${texts[0]})` : fold("hypot_f32");
    case "abs":
    case "sign":
      return `${callee}${isFloat(type) ? `_${type}` : ""}(${texts[0]})`;
    case "round":
    case "floor":
    case "ceil":
    case "trunc":
      return isFloat(type) ? `${callee}_${type}(${texts[0]})` : texts[0]!;
    default:
      if (!ofFloats.has(callee)) throw new Error(`no WGSL for Math.${callee}`);
      return `${callee}_${type}(${texts.join(", ")})`;
  }
}

/**
 * Returns an operand that is never a constant expression. WGSL would evaluate a constant expression
 * and perhaps reject it.
 */
function emitOpaque(expression: LoopExpression, target: StatementTarget): string {
  const text = emitExpression(expression, target);
  return isConstant(expression) ? `opaque_${expression.type}(${text})` : text;
}

function isConstant(expression: LoopExpression): boolean {
  const operands = operandsOf(expression);
  return (
    expression.kind === "literal" ||
    (operands.length > 0 && !isLoad(expression) && operands.every(isConstant))
  );
}

/** Returns true for a factor so small that the product has at most 53 bits and only wraps. */
function isSmall(expression: LoopExpression): boolean {
  return expression.kind === "literal" && Math.abs(Number(expression.value)) <= 2 ** 21;
}

/** Returns true if the expression chooses between sides and one of them loads an element. */
function needsStatements(expression: LoopExpression): boolean {
  return someExpression(
    expression,
    (part) => part.kind === "conditional" && operandsOf(part).some((side) => someExpression(side, isLoad)),
  );
}
