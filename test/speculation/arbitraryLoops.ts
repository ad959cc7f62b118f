/**
 * Random loops whose addresses may depend on anything, and index patterns that are hostile to
 * speculation.
 */

import type { LoopData } from "belay-speculate/internal/loops/javascript/sequential";
import type {
  BodyStatement,
  ElementType,
  Loop,
  LoopExpression,
  LoopOperator,
} from "belay-speculate/internal/loops/tree/ir";
import fc from "fast-check";

const span = { start: 0, end: 0 };
const index: LoopExpression = { kind: "index", type: "i32" };
const int = (value: number): LoopExpression => ({ kind: "literal", type: "i32", value });
/** Returns `value | 0`, as programs write it around integers that may leave 32 bits. */
const toInt = (operand: LoopExpression): LoopExpression => ({ kind: "convert", type: "i32", operand });
const compare = (operator: LoopOperator, left: LoopExpression, right: LoopExpression): LoopExpression => ({
  kind: "binary",
  type: "bool",
  operator,
  left,
  right,
});
const binary = (operator: LoopOperator, left: LoopExpression, right: LoopExpression): LoopExpression =>
  toInt({ kind: "binary", type: "i32", operator, left, right });
const load = (array: string, at: LoopExpression, type: "i32" | "f32" = "i32"): LoopExpression => ({
  kind: "load",
  type,
  array,
  index: at,
  span,
});

/** The elements of the array that loops change. */
const elements = 61;

const { statements } = fc.letrec<{
  /** An expression that names an element, or none. */
  element: LoopExpression;
  value: LoopExpression;
  condition: LoopExpression;
  statement: BodyStatement;
  statements: BodyStatement[];
}>((tie) => ({
  element: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("p", "q").map((array) => load(array, index)) },
    { weight: 1, arbitrary: fc.constant(load("places", index, "f32")) },
    { weight: 1, arbitrary: tie("value").map((v) => binary("&", v as LoopExpression, int(63))) },
  ),
  value: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: tie("element").map((e) => toInt(load("a", e as LoopExpression))) },
    { weight: 1, arbitrary: fc.constant(toInt(load("own", index))) },
    { weight: 1, arbitrary: fc.constant(index) },
    { weight: 1, arbitrary: fc.integer({ min: -9, max: 9 }).map(int) },
    { weight: 1, arbitrary: fc.constant<LoopExpression>({ kind: "carried", type: "i32", name: "last" }) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom<LoopOperator>("+", "-", "^", "&"), tie("value"), tie("value"))
        .map(([operator, left, right]) => binary(operator, left as LoopExpression, right as LoopExpression)),
    },
  ),
  condition: fc
    .tuple(fc.constantFrom<LoopOperator>("<", "==", "!="), tie("value"), tie("value"))
    .map(([operator, left, right]) =>
      compare(
        operator,
        binary("&", left as LoopExpression, int(3)),
        binary("&", right as LoopExpression, int(3)),
      ),
    ),
  statement: fc.oneof(
    { maxDepth: 2 },
    {
      weight: 6,
      arbitrary: fc.tuple(tie("element"), tie("value")).map(
        ([at, v]): BodyStatement => ({
          kind: "store",
          array: "a",
          index: at as LoopExpression,
          value: v as LoopExpression,
          span,
        }),
      ),
    },
    {
      weight: 2,
      arbitrary: tie("value").map(
        (v): BodyStatement => ({ kind: "store", array: "own", index, value: v as LoopExpression, span }),
      ),
    },
    {
      weight: 2,
      arbitrary: tie("value").map(
        (v): BodyStatement => ({ kind: "reduce", name: "sum", value: v as LoopExpression }),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(tie("condition"), tie("statements"), tie("statements")).map(
        ([test, yes, no]): BodyStatement => ({
          kind: "if",
          test: test as LoopExpression,
          yes: yes as BodyStatement[],
          no: no as BodyStatement[],
        }),
      ),
    },
    {
      weight: 1,
      arbitrary: tie("condition").map(
        (test): BodyStatement => ({
          kind: "if",
          test: test as LoopExpression,
          yes: [{ kind: "assignCarried", name: "last", value: index }],
          no: [],
        }),
      ),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom<Extract<BodyStatement, { kind: "misspeculate" }>["which"]>(
          { kind: "relative", offsets: [1] },
          { kind: "relative", offsets: [-1, 0, 1] },
          { kind: "range", from: 0, to: 4 },
          { kind: "range", from: 1, to: null },
          { kind: "absolute", index: int(7) },
        )
        .map(
          (which): BodyStatement => ({
            kind: "if",
            test: compare("==", binary("&", load("p", index), int(7)), int(3)),
            yes: [{ kind: "misspeculate", which, span }],
            no: [],
          }),
        ),
    },
    {
      weight: 1,
      arbitrary: tie("value").map(
        (v): BodyStatement => ({
          kind: "if",
          test: compare("==", binary("&", v as LoopExpression, int(127)), int(77)),
          yes: [{ kind: "endLoop" }],
          no: [],
        }),
      ),
    },
  ),
  statements: fc.array(tie("statement") as fc.Arbitrary<BodyStatement>, { minLength: 1, maxLength: 3 }),
}));

/**
 * Few enough accesses for a software adapter, which compiles many of them for seconds; and at least
 * one store.
 */
function isShort(body: readonly BodyStatement[]): boolean {
  const text = JSON.stringify(body);
  return text.includes('"store"') && (text.match(/"array"/g)?.length ?? 0) <= 9;
}

export const arbitraryLoop: fc.Arbitrary<Loop> = fc
  .tuple(statements.filter(isShort), fc.constantFrom<ElementType>("i32", "u8", "i16", "f32"))
  .map(([body, type]) => ({
    name: "random",
    span,
    index: { name: "i", type: "i32" },
    arrays: [
      { name: "a", element: type, role: "tracked" },
      { name: "p", element: "i32", role: "read" },
      { name: "q", element: "i32", role: "read" },
      { name: "places", element: "f32", role: "read" },
      { name: "own", element: "i32", role: "owned" },
    ],
    inputs: [],
    carried: [{ name: "last", type: "i32" }],
    reductions: [{ name: "sum", type: "i32", operator: "+" }],
    body: type === "f32" ? withFloats(body) : body,
    addressesAreFixed: false,
    mostLoads: null,
    mostStores: null,
    schedule: { iterationsPerRound: null },
  }));

/**
 * The same loops with floats in `a`: whole numbers, and few enough that a float holds each under
 * any rounding.
 */
function withFloats<Tree>(tree: Tree): Tree {
  if (Array.isArray(tree)) return tree.map(withFloats) as Tree;
  if (tree === null || typeof tree !== "object") return tree;
  const copy = Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, withFloats(value)]));
  if (copy.array !== "a") return copy as Tree;
  if (copy.kind === "load") return { ...copy, type: "f32" } as Tree;
  const value = binary("&", copy.value, int(0xffff));
  return { ...copy, value: { kind: "convert", type: "f32", operand: value } } as Tree;
}

/** Patterns of `count` indices; some name no element. */
const patterns: Readonly<Record<string, (count: number) => number[]>> = {
  equal: (count) => new Array(count).fill(5),
  ascending: (count) => Array.from({ length: count }, (_, i) => i % elements),
  reversed: (count) => Array.from({ length: count }, (_, i) => (count - 1 - i) % elements),
  chain: (count) => Array.from({ length: count }, (_, i) => (i + elements - 1) % elements),
  bitReversed: (count) =>
    Array.from(
      { length: count },
      (_, i) => Number.parseInt(i.toString(2).padStart(8, "0").split("").reverse().join(""), 2) % elements,
    ),
  outOfRange: (count) =>
    Array.from({ length: count }, (_, i) => (i % 50 === 13 ? [-1, elements, 2 ** 30][i % 3]! : i % elements)),
};
const noElements = [Number.NaN, 0.5, -1, Infinity, -0, elements - 1];

/** The data that the iterations read. */
export const arbitraryArrays: fc.Arbitrary<{ p: Int32Array; q: Int32Array; places: Float32Array }> = fc
  .tuple(
    fc.constantFrom(...Object.keys(patterns)),
    fc.constantFrom(...Object.keys(patterns)),
    fc.integer({ min: 1, max: 200 }),
  )
  .map(([p, q, count]) => ({
    p: Int32Array.from(patterns[p]!(count)),
    q: Int32Array.from(patterns[q]!(count)),
    places: Float32Array.from({ length: count }, (_, i) =>
      i % 40 === 7 ? noElements[i % 6]! : i % elements,
    ),
  }));

const types: Readonly<Record<ElementType, new (length: number) => LoopData>> = {
  i8: Int8Array,
  u8: Uint8Array,
  u8c: Uint8ClampedArray,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
};

/** The array that a loop changes, with values that differ. */
export function initialValues(loop: Loop): LoopData {
  const values = new types[loop.arrays[0]!.element](elements);
  for (let i = 0; i < elements; i++) values[i] = (i * 7) % 101;
  return values;
}
