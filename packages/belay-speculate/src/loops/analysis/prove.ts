import type { LoopExpression } from "../tree/ir.ts";
import { allOf, asType, combined, hull, type IntegerRange, rangeOf, rangeOfBinary } from "./ranges.ts";

/** The numbers known when a loop starts. */
export interface LoopNumbers {
  readonly inputs: Readonly<Record<string, number>>;
  readonly lengths: Readonly<Record<string, number>>;
  /** The index of the first iteration and the difference to the next index. */
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

/** The facts known at one place of the body. */
export interface KnownFacts {
  readonly numbers: LoopNumbers;
  /** The range of the elements of each array. */
  readonly elements: ReadonlyMap<string, IntegerRange | null>;
  /** The ranges of locals. A missing local may have any value. */
  readonly locals: ReadonlyMap<string, IntegerRange | null>;
}

/**
 * Returns the expression with the facts proven about it, and its range. The range is null if the
 * expression is no integer.
 */
export function prove(expression: LoopExpression, known: KnownFacts): [LoopExpression, IntegerRange | null] {
  const { type } = expression;
  switch (expression.kind) {
    case "literal": {
      const value = Number(expression.value);
      return [expression, allOf(type) && rangeOf(value, value)];
    }
    case "index": {
      const { first, step, count } = known.numbers;
      const last = first + (count - 1) * step;
      return [expression, rangeOf(Math.min(first, last), Math.max(first, last))];
    }
    case "local": {
      const range = known.locals.get(expression.name);
      return [expression, range === undefined ? allOf(type) : asType(type, range)];
    }
    case "input": {
      const value = known.numbers.inputs[expression.name]!;
      return [expression, allOf(type) && rangeOf(value, value)];
    }
    case "carried":
      return [expression, allOf(type)];
    case "length": {
      const length = known.numbers.lengths[expression.array]!;
      return [expression, rangeOf(length, length)];
    }
    case "load": {
      const [index, range] = prove(expression.index, known);
      const loaded = asType(type, known.elements.get(expression.array) ?? null);
      return [{ ...expression, index, ...insideOf(expression.array, range, known) }, loaded];
    }
    case "unary": {
      const [operand, range] = prove(expression.operand, known);
      if (!range || expression.operator === "!") return [{ ...expression, operand }, allOf(type)];
      const negated = rangeOf(-range.high, -range.low);
      const value = { ...(fits(type, negated) ? unchecked(expression) : expression), operand };
      return [
        value,
        asType(type, expression.operator === "-" ? negated : rangeOf(negated.low - 1, negated.high - 1)),
      ];
    }
    case "binary": {
      const [left, a] = prove(expression.left, known);
      const [right, b] = prove(expression.right, known);
      const range = allOf(type) && a && b && rangeOfBinary(expression, a, b);
      const isSmall = expression.operator === "*" && range;
      const isExact = expression.operator === "%" ? b && (b.low > 0 || b.high < 0) : fits(type, range);
      const proven = { ...(isExact ? unchecked(expression) : expression), left, right };
      return [{ ...proven, ...(isSmall ? { small: true as const } : {}) }, asType(type, range)];
    }
    case "conditional": {
      const [[test], [yes, a], [no, b]] = [expression.test, expression.yes, expression.no].map((part) =>
        prove(part, known),
      ) as [
        [LoopExpression, IntegerRange | null],
        [LoopExpression, IntegerRange | null],
        [LoopExpression, IntegerRange | null],
      ];
      return [{ ...expression, test, yes, no }, hull(a, b)];
    }
    case "call": {
      const parts = expression.args.map((arg) => prove(arg, known));
      const ranges = parts.map(([, range]) => range);
      const word = { lowWord: 0, highWord: 1 }[expression.callee as string];
      if (word !== undefined) {
        const [index] = ranges;
        const isPlace = index && index.low >= 0 && index.high < 2 ** 31;
        const places = isPlace ? rangeOf(2 * index.low + word, 2 * index.high + word) : null;
        return [{ ...expression, args: parts.map(([arg]) => arg) }, asType(type, places)];
      }
      const name = { imul: "*", min: "min", max: "max" }[expression.callee as string];
      const isKnown = name && ranges.length > 0 && allOf(type) && ranges.every((range) => range !== null);
      const range = isKnown
        ? (ranges as IntegerRange[]).reduce((one, other) => combined(name as "*", one, other))
        : null;
      return [{ ...expression, args: parts.map(([arg]) => arg) }, asType(type, range)];
    }
    case "convert": {
      const [operand, range] = prove(expression.operand, known);
      return [{ ...(fits(type, range) ? unchecked(expression) : expression), operand }, asType(type, range)];
    }
  }
}

/** Returns true if an integer type holds every value of the range. */
function fits(type: LoopExpression["type"], range: IntegerRange | null): boolean {
  const all = allOf(type);
  return range !== null && all !== null && range.low >= all.low && range.high <= all.high;
}

function unchecked<Expression extends { readonly checked?: true }>(
  expression: Expression,
): Omit<Expression, "checked"> {
  const { checked: _, ...rest } = expression;
  return rest;
}

/**
 * Returns the property that says that an access stays inside its array, if the range of its index
 * proves it.
 */
export function insideOf(
  array: string,
  index: IntegerRange | null,
  { numbers }: KnownFacts,
): { inside?: true } {
  return index && index.low >= 0 && index.high < numbers.lengths[array]! ? { inside: true } : {};
}
