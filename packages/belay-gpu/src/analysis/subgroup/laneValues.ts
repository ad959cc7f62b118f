/** Integers of the lanes of one subgroup, computed as a device computes them. */
import type { BinaryOperator } from "../../wgsl/ast.ts";
import type { Value } from "../../wgsl/values.ts";

/** Lanes that are run together. */
export const laneCount = 32;

/** An integer, or a truth value, of each lane: the bits of a `u32` or an `i32`. */
export type Lanes = Uint32Array;

/** The components of a value, of which none is known when it is no scalar or vector of integers. */
export type LaneValue = readonly Lanes[];

export const unknown: LaneValue = [];

/** A loop: `Uint32Array.from` takes ten times as long. */
export function eachLane(of: (lane: number) => number): Lanes {
  const lanes = new Uint32Array(laneCount);
  for (let lane = 0; lane < laneCount; lane++) lanes[lane] = of(lane);
  return lanes;
}

export const allLanes = (value: number): Lanes => new Uint32Array(laneCount).fill(value >>> 0);

/** A scalar or a vector that is known before the kernel runs. */
export function ofConstant(constant: Value): LaneValue {
  if ("value" in constant)
    return Number.isInteger(Number(constant.value)) ? [allLanes(Number(constant.value))] : unknown;
  return constant.type.kind === "vector" ? constant.elements.flatMap(ofConstant) : unknown;
}

const guesses = new WeakSet<Lanes>();

/** Marks numbers that memory might hold, and so all that is computed from them. */
export function guess(lanes: Lanes): Lanes {
  guesses.add(lanes);
  return lanes;
}

export const isGuess = (lanes: Lanes): boolean => guesses.has(lanes);

/**
 * Applies an operation of up to three operands to each component; a scalar goes with every
 * component of a vector.
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

/** Built-in functions of integers that indices are made with. */
export function builtin(name: string, args: readonly LaneValue[], isSigned: boolean): LaneValue {
  const number = (word: number) => (isSigned ? word | 0 : word);
  switch (name) {
    // What limits an index limits nothing, nearly everywhere.
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
