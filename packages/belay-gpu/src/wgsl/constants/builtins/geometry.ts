/**
 * Evaluates the functions on whole vectors and matrices. Source: WGSL specification, "Numeric
 * Built-in Functions".
 */
import type { BinaryOperator } from "../../ast.ts";
import type { ScalarValue, Value } from "../../values.ts";
import { binary, dot, transpose } from "../arithmetic.ts";
import { elements, vector } from "../components.ts";
import { type ConstantFunction, noValue } from "../folded.ts";
import { float, numberOf, scalar } from "../scalars.ts";

/** Returns `left operator right`, where a scalar stands for a vector of it. */
function compute(left: Value, operator: BinaryOperator, right: Value): Value {
  return binary(operator, left, right, "elements" in left ? left.type : right.type);
}

function length(e: Value): ScalarValue {
  if (!("elements" in e)) return float(e.type, Math.abs(numberOf(e)));
  const squared = dot(e, e);
  return float(squared.type, Math.sqrt(numberOf(squared)));
}

function normalize(e: Value): Value {
  const size = length(e);
  return size.value === 0 ? noValue("cannot normalize the zero vector") : compute(e, "/", size);
}

/** Returns `a * d - b * c`. */
function minor(a: Value, b: Value, c: Value, d: Value): ScalarValue {
  return scalar(compute(compute(a, "*", d), "-", compute(b, "*", c)));
}

function cross(a: Value, b: Value): Value {
  const [ax, ay, az] = elements(a);
  const [bx, by, bz] = elements(b);
  return vector([minor(ay!, az!, by!, bz!), minor(az!, ax!, bz!, bx!), minor(ax!, ay!, bx!, by!)]);
}

/** Returns the determinant, by expansion along the first row. */
function determinant(columns: readonly (readonly Value[])[]): Value {
  if (columns.length === 1) return columns[0]![0]!;
  return columns
    .map((column, i) => {
      const others = columns.filter((_, j) => j !== i).map((other) => other.slice(1));
      return compute(column[0]!, "*", determinant(others));
    })
    .reduce((sum, term, i) => compute(sum, i % 2 === 1 ? "-" : "+", term));
}

function reflect(e1: Value, e2: Value): Value {
  const projection = dot(e2, e1);
  return compute(e1, "-", compute(compute(float(projection.type, 2), "*", projection), "*", e2));
}

function refract(e1: Value, e2: Value, ratio: Value): Value {
  const projection = dot(e2, e1);
  const one = float(projection.type, 1);
  const sine = compute(
    compute(ratio, "*", ratio),
    "*",
    compute(one, "-", compute(projection, "*", projection)),
  );
  const k = numberOf(compute(one, "-", sine));
  if (k < 0) return vector(elements(e1).map(() => float(one.type, 0)));
  const along = compute(compute(ratio, "*", projection), "+", float(one.type, Math.sqrt(k)));
  return compute(compute(ratio, "*", e1), "-", compute(along, "*", e2));
}

export const geometricFunctions: Readonly<Record<string, ConstantFunction>> = {
  cross: ([a, b]) => cross(a!, b!),
  determinant: ([e]) => determinant(elements(e).map(elements)),
  distance: ([a, b]) => length(compute(a!, "-", b!)),
  dot: ([a, b]) => dot(a!, b!),
  faceForward: ([e1, e2, e3]) => {
    const facing = dot(e2!, e3!);
    return numberOf(facing) < 0 ? e1! : compute(float(facing.type, -1), "*", e1!);
  },
  length: ([e]) => length(e!),
  normalize: ([e]) => normalize(e!),
  reflect: ([e1, e2]) => reflect(e1!, e2!),
  refract: ([e1, e2, ratio]) => refract(e1!, e2!, ratio!),
  transpose: ([e]) => transpose(e!),
};
