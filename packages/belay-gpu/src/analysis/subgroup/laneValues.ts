/** The integer values of the lanes of one subgroup, and their arithmetic as on a device. */
import type { BinaryOperator } from "../../wgsl/ast.ts";
import type { Value } from "../../wgsl/values.ts";

/** The number of lanes that run together. */
export const laneCount = 32;

/** An integer or truth value of each lane: the bits of a `u32` or an `i32`. */
export type Lanes = Uint32Array;

/**
 * The components of a value. Empty for a value that is unknown: only scalars and vectors of
 * integers are tracked.
 */
export type LaneValue = readonly Lanes[];

/** The value of which nothing is known. */
export const unknown: LaneValue = [];

/**
 * Returns the result of `of` for each lane. `Uint32Array.from` takes ten times as long as this
 * loop.
 */
export function eachLane(of: (lane: number) => number): Lanes {
  const lanes = new Uint32Array(laneCount);
  for (let lane = 0; lane < laneCount; lane++) lanes[lane] = of(lane);
  return lanes;
}

/** Returns one value for all lanes. */
export const allLanes = (value: number): Lanes => new Uint32Array(laneCount).fill(value >>> 0);

/** Returns the value of a constant scalar or vector of integers. */
export function ofConstant(constant: Value): LaneValue {
  if ("value" in constant)
    return Number.isInteger(Number(constant.value)) ? [allLanes(Number(constant.value))] : unknown;
  return constant.type.kind === "vector" ? constant.elements.flatMap(ofConstant) : unknown;
}

const guesses = new WeakSet<Lanes>();

/** Marks values as invented; all values that are computed from them are marked, too. */
export function guess(lanes: Lanes): Lanes {
  guesses.add(lanes);
  return lanes;
}

/** Returns true for values that are invented or computed from invented ones. */
export const isGuess = (lanes: Lanes): boolean => guesses.has(lanes);

/**
 * Applies an operation of up to three operands to each component. A scalar operand is used with
 * every component of a vector.
 */
export function component(
  [first = unknown, second = first, third = first]: readonly LaneValue[],
  of: (a: number, b: number, c: number) => number,
): LaneValue {
  const sizes = [first.length, second.length, third.length];
  if (Math.min(...sizes) === 0) return unknown;
  return Array.from({ length: Math.max(...sizes) }, (_, i) => {
    const [a, b, c] = [first[i % sizes[0]!]!, second[i % sizes[1]!]!, third[i % sizes[2]!]!];
    const lanes = eachLane((lane) => of(a[lane]!, b[lane]!, c[lane]!));
    return [a, b, c].some(isGuess) ? guess(lanes) : lanes;
  });
}

/** Returns a WGSL operator as a function of two words. */
export function binary(operator: BinaryOperator, isSigned: boolean): (a: number, b: number) => number {
  const number = (word: number) => (isSigned ? word | 0 : word);
  switch (operator) {
    case "+":
      return (a, b) => a + b;
    case "-":
      return (a, b) => a - b;
    case "*":
      return Math.imul;
    case "/":
      return (a, b) => (b === 0 ? a : Math.trunc(number(a) / number(b)));
    case "%":
      return (a, b) => (b === 0 ? 0 : number(a) % number(b));
    case "&":
    case "&&":
      return (a, b) => a & b;
    case "|":
    case "||":
      return (a, b) => a | b;
    case "^":
      return (a, b) => a ^ b;
    case "<<":
      return (a, b) => a << b;
    case ">>":
      return (a, b) => (isSigned ? a >> b : a >>> b);
    case "==":
      return (a, b) => Number(a === b);
    case "!=":
      return (a, b) => Number(a !== b);
    case "<":
      return (a, b) => Number(number(a) < number(b));
    case "<=":
      return (a, b) => Number(number(a) <= number(b));
    case ">":
      return (a, b) => Number(number(a) > number(b));
    case ">=":
      return (a, b) => Number(number(a) >= number(b));
  }
}

/**
 * Evaluates a built-in function of integers; unknown for those that indices are rarely computed
 * with.
 */
export function builtin(name: string, args: readonly LaneValue[], isSigned: boolean): LaneValue {
  const number = (word: number) => (isSigned ? word | 0 : word);
  switch (name) {
    // The limits of an index are assumed to have no effect, so the operand that differs between
    // lanes is returned.
    case "min":
    case "max":
    case "clamp":
      return args.find(([lanes]) => lanes?.some((each) => each !== lanes[0])) ?? args[0] ?? unknown;
    case "abs":
      return component(args, (a) => Math.abs(number(a)));
    case "select":
      return component(args, (a, b, isSecond) => (isSecond ? b : a));
    case "countOneBits":
      return component(args, (a) => {
        let count = 0;
        for (let rest = a; rest !== 0; rest &= rest - 1) count++;
        return count;
      });
    case "firstTrailingBit":
      return component(args, (a) => (a === 0 ? -1 : 31 - Math.clz32(a & -a)));
    case "firstLeadingBit":
      return component(args, (a) => 31 - Math.clz32(a));
    case "countLeadingZeros":
      return component(args, (a) => Math.clz32(a));
    default:
      return unknown;
  }
}
