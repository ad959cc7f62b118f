/** The values of expressions in the search for filled bytes, and operations on them. */
import type { BinaryOperator } from "../../wgsl/ast.ts";
import type { ScalarType, Type } from "../../wgsl/types.ts";
import type { Value as Constant } from "../../wgsl/values.ts";
import type { Condition } from "./stores.ts";
import { constantSum, isConstant, keyOf, minus, plus, type Sum, times, type Unknowns } from "./sums.ts";

/** A boolean, as the conditions under which it is true, and those under which it is false. */
export interface Truth {
  readonly kind: "truth";
  readonly ifTrue: readonly Condition[];
  readonly ifFalse: readonly Condition[];
}

/** A vector, an array or a struct. */
export interface Composite {
  readonly kind: "composite";
  readonly elements: readonly KnownValue[];
}

/** The value of an expression; undefined if it is not understood. */
export type KnownValue = Sum | Truth | Composite | undefined;

const never: Sum = constantSum(-1);
const always: readonly Condition[] = [];

export const truth = (isTrue: boolean): Truth => ({
  kind: "truth",
  ifTrue: isTrue ? always : [never],
  ifFalse: isTrue ? [never] : always,
});

/** The truth of a condition about which nothing is known. */
export const unknownTruth: Truth = { kind: "truth", ifTrue: ["unknown"], ifFalse: ["unknown"] };

export const truthOf = (value: KnownValue): Truth => (value?.kind === "truth" ? value : unknownTruth);

/** Returns the only value that a truth can have, or undefined if it can have both. */
export function decided({ ifTrue, ifFalse }: Truth): boolean | undefined {
  const isNever = (each: Condition) => each !== "unknown" && each.max < 0;
  const isAlways = (each: Condition) => each !== "unknown" && each.min >= 0;
  if (ifTrue.every(isAlways) || ifFalse.some(isNever)) return true;
  return ifFalse.every(isAlways) || ifTrue.some(isNever) ? false : undefined;
}

export const not = ({ ifTrue, ifFalse }: Truth): Truth => ({
  kind: "truth",
  ifTrue: ifFalse,
  ifFalse: ifTrue,
});

export function and(a: Truth, b: Truth): Truth {
  if (decided(a) !== undefined) return decided(a) ? b : a;
  if (decided(b) !== undefined) return decided(b) ? a : b;
  return { kind: "truth", ifTrue: [...a.ifTrue, ...b.ifTrue], ifFalse: ["unknown"] };
}

export const or = (a: Truth, b: Truth): Truth => not(and(not(a), not(b)));

/** The largest number of elements of a composite that is followed. */
const MOST_ELEMENTS = 64;

/** Returns a composite, or undefined if it is too large. */
export const composite = (elements: readonly KnownValue[]): Composite | undefined =>
  elements.length <= MOST_ELEMENTS ? { kind: "composite", elements } : undefined;

export function known(constant: Constant): KnownValue {
  if ("elements" in constant) return composite(constant.elements.map(known));
  const { type, value } = constant;
  if (typeof value === "boolean") return truth(value);
  return /^f|float/.test(type.name) ? undefined : constantSum(Number(value));
}

/** Returns the value of a variable of this type without an initializer. */
export function zeroOf(type: Type): KnownValue {
  switch (type.kind) {
    case "scalar":
      return type.name === "bool" ? truth(false) : isInteger(type) ? constantSum(0) : undefined;
    case "vector":
      return composite(new Array<KnownValue>(type.size).fill(zeroOf(type.element)));
    case "array":
      return typeof type.count === "number" && type.count <= MOST_ELEMENTS
        ? composite(new Array<KnownValue>(type.count).fill(zeroOf(type.element)))
        : undefined;
    case "struct":
      return composite(type.members.map((member) => zeroOf(member.type)));
    default:
      return undefined;
  }
}

export const isInteger = ({ name }: ScalarType): boolean => name === "i32" || name === "u32";

/** Returns an integer if it has the same value in another type. */
export function fitted(value: KnownValue, { name }: ScalarType): KnownValue {
  if (value?.kind !== "sum") return name === "bool" ? value : undefined;
  const [least, most] =
    name === "i32" ? [-(2 ** 31), 2 ** 31 - 1] : name === "u32" ? [0, 2 ** 32 - 1] : [1, 0];
  return value.min >= least && value.max <= most ? value : undefined;
}

/** Applies an operation to two values, or to the components of vectors. */
export function lifted(
  a: KnownValue,
  b: KnownValue,
  apply: (a: KnownValue, b: KnownValue) => KnownValue,
): KnownValue {
  const size = a?.kind === "composite" ? a.elements.length : b?.kind === "composite" ? b.elements.length : 0;
  if (size === 0) return apply(a, b);
  const at = (value: KnownValue, i: number) => (value?.kind === "composite" ? value.elements[i] : value);
  return composite(Array.from({ length: size }, (_, i) => apply(at(a, i), at(b, i))));
}

/** Applies a binary operator to scalars. Results may not fit their type. */
export function operate(
  operator: BinaryOperator,
  a: KnownValue,
  b: KnownValue,
  unknowns: Unknowns,
): KnownValue {
  if (a?.kind === "sum" && b?.kind === "sum") return operateOnSums(operator, a, b, unknowns);
  if (a?.kind !== "truth" && b?.kind !== "truth") return undefined;
  if (operator === "&") return and(truthOf(a), truthOf(b));
  if (operator === "|") return or(truthOf(a), truthOf(b));
  return unknownTruth;
}

function operateOnSums(operator: BinaryOperator, a: Sum, b: Sum, unknowns: Unknowns): KnownValue {
  switch (operator) {
    case "+":
      return plus(a, b);
    case "-":
      return unknowns.difference(a, b);
    case "*":
      return isConstant(a) ? times(b, a.constant) : isConstant(b) ? times(a, b.constant) : undefined;
    case "<<":
      return isShift(b) ? times(a, 2 ** b.constant) : undefined;
    case "/":
      return isConstant(b) && b.constant > 0 && a.min >= 0 ? unknowns.quotient(a, b.constant) : undefined;
    case "%":
      return isConstant(b) && b.constant > 0 && a.min >= 0 ? unknowns.remainder(a, b.constant) : undefined;
    case ">>":
      return isShift(b) && a.min >= 0 ? unknowns.quotient(a, 2 ** b.constant) : undefined;
    case "&": {
      const [mask, masked] = isConstant(b) ? [b.constant + 1, a] : [a.constant + 1, isConstant(a) ? b : a];
      const isMask = (isConstant(a) || isConstant(b)) && mask > 0 && Number.isInteger(Math.log2(mask));
      return isMask && masked.min >= 0 ? unknowns.remainder(masked, mask) : undefined;
    }
    case "<":
      return atLeast(minus(minus(b, a), constantSum(1)));
    case "<=":
      return atLeast(minus(b, a));
    case ">":
      return atLeast(minus(minus(a, b), constantSum(1)));
    case ">=":
      return atLeast(minus(a, b));
    case "==":
      return equal(minus(a, b));
    case "!=":
      return not(equal(minus(a, b)));
    default:
      return undefined;
  }
}

/** Returns whether a shift by this number moves all bits. Larger ones count modulo 32. */
const isShift = (by: Sum): boolean => isConstant(by) && by.constant >= 0 && by.constant < 32;

/** Returns the value of a conversion to a boolean. */
export const toTruth = (value: KnownValue): KnownValue => (value?.kind === "sum" ? not(equal(value)) : value);

/** Returns the truth of `sum >= 0`. */
const atLeast = (sum: Sum): Truth => ({
  kind: "truth",
  ifTrue: [sum],
  ifFalse: [minus(constantSum(-1), sum)],
});

/** Returns the truth of `sum == 0`. */
function equal(sum: Sum): Truth {
  const opposite = times(sum, -1);
  const positive = minus(sum, constantSum(1));
  const negative = minus(opposite, constantSum(1));
  const differs: Condition = sum.min >= 0 ? positive : sum.max <= 0 ? negative : "unknown";
  return { kind: "truth", ifTrue: [sum, opposite], ifFalse: [differs] };
}

/** Returns a text that is the same for equal conditions. Unknown ones equal nothing. */
export const conditionKey = (condition: Condition): string | undefined =>
  condition === "unknown" ? undefined : keyOf(condition);

/** Returns whether two values are known to be the same. */
export function isSame(a: KnownValue, b: KnownValue): boolean {
  if (a === b) return a !== undefined;
  if (a?.kind === "sum" && b?.kind === "sum") return keyOf(a) === keyOf(b);
  if (a?.kind === "composite" && b?.kind === "composite")
    return (
      a.elements.length === b.elements.length && a.elements.every((each, i) => isSame(each, b.elements[i]))
    );
  return false;
}
