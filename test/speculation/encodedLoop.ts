/**
 * One loop that executes enumerated loops given as data, one after the other and each on elements
 * of its own. Thousands of them thus share a pipeline and a run.
 */

import type { LoopData } from "belay-speculate/internal/loops/javascript/sequential";
import type {
  BodyStatement,
  Loop,
  LoopExpression,
  LoopOperator,
} from "belay-speculate/internal/loops/tree/ir";
import { type AbstractLoop, type AbstractOperation, initialState } from "./abstractLoops.ts";
import { mixed } from "./mixing.ts";

/** The largest number of operations of an iteration. */
const most = 4;

const span = { start: 0, end: 0 };
const int = (value: number): LoopExpression => ({ kind: "literal", type: "i32", value });
const local = (name: string): LoopExpression => ({ kind: "local", type: "i32", name });
const binary = (left: LoopExpression, operator: LoopOperator, right: LoopExpression): LoopExpression => ({
  kind: "binary",
  type: ["<", "=="].includes(operator) ? "bool" : "i32",
  operator,
  left,
  right,
});
const load = (array: string, index: LoopExpression): LoopExpression => ({
  kind: "load",
  type: "i32",
  array,
  index,
  span,
});
const declare = (name: string, value: LoopExpression): BodyStatement => ({
  kind: "declare",
  name,
  type: "i32",
  value,
});
const assign = (name: string, value: LoopExpression): BodyStatement => ({ kind: "assign", name, value });
const when = (test: LoopExpression, ...yes: BodyStatement[]): BodyStatement => ({
  kind: "if",
  test,
  yes,
  no: [],
});
const iteration: LoopExpression = { kind: "index", type: "i32" };

/** Returns `word = mixed(a, b)` as statements. */
function mix(a: LoopExpression, b: LoopExpression): BodyStatement[] {
  const times = (value: LoopExpression, factor: number): LoopExpression => ({
    kind: "call",
    type: "i32",
    callee: "imul",
    args: [value, int(factor | 0)],
  });
  const word = local("word");
  return [
    assign("word", times(binary(a, "^", times(binary(b, "+", int(1)), 0x9e3779b1)), 0x85ebca6b)),
    assign("word", binary(word, "^", binary(word, ">>>", int(15)))),
    assign("word", times(word, 0x735a2d97)),
    assign("word", binary(word, "^", binary(word, ">>>", int(13)))),
  ];
}

const codes = { none: -1, load: 0, store: 1, loadAnywhere: 2, storeAnywhere: 3 } as const;

function codeOf(operation: AbstractOperation | undefined): [code: number, element: number] {
  if (!operation) return [codes.none, 0];
  if (!(operation.kind in codes)) throw new Error(`${operation.kind} cannot be encoded`);
  return [codes[operation.kind as keyof typeof codes], "element" in operation ? operation.element : 0];
}

/**
 * Returns the loop. `addressesAreFixed` is true only if no operation is `loadAnywhere` or
 * `storeAnywhere`.
 */
export function encodedLoop(elements: number, addressesAreFixed: boolean): Loop {
  const [code, element, seen, word] = ["code", "element", "seen", "word"].map(local) as [
    LoopExpression,
    LoopExpression,
    LoopExpression,
    LoopExpression,
  ];
  const at = binary(load("bases", iteration), "+", element);
  const anywhere: BodyStatement[] = [
    ...mix(seen, int(17)),
    assign("element", binary(binary(word, ">>>", int(8)), "%", int(elements))),
    assign("code", binary(code, "-", int(2))),
  ];
  const isLoad: BodyStatement[] = [
    assign("read", load("values", at)),
    ...mix(seen, local("read")),
    assign("seen", word),
  ];
  const isStore: BodyStatement[] = [
    ...mix(seen, element),
    { kind: "store", array: "values", index: at, value: word, span },
  ];
  const operation = (place: number) =>
    binary(
      binary(iteration, "*", int(2 * most)),
      "+",
      binary(binary(local("n"), "*", int(2)), "+", int(place)),
    );
  return {
    name: "encoded",
    span,
    index: { name: "i", type: "i32" },
    arrays: [
      { name: "values", element: "i32", role: "tracked" },
      { name: "operations", element: "i8", role: "read" },
      { name: "bases", element: "i32", role: "read" },
      { name: "seeds", element: "i32", role: "read" },
    ],
    inputs: [],
    carried: [],
    reductions: [],
    body: [
      declare("word", int(0)),
      declare("read", int(0)),
      declare("seen", load("seeds", iteration)),
      declare("n", int(0)),
      {
        kind: "loop",
        label: "operations",
        body: [
          when(binary(int(most - 1), "<", local("n")), { kind: "break", label: "operations" }),
          declare("code", load("operations", operation(0))),
          declare("element", load("operations", operation(1))),
          when(binary(code, "<", int(0)), { kind: "break", label: "operations" }),
          ...(addressesAreFixed ? [] : [when(binary(int(1), "<", code), ...anywhere)]),
          { kind: "if", test: binary(code, "==", int(codes.load)), yes: isLoad, no: isStore },
        ],
        update: [assign("n", binary(local("n"), "+", int(1)))],
      },
    ],
    addressesAreFixed,
    mostLoads: most,
    mostStores: most,
    schedule: { iterationsPerRound: null },
  };
}

/** Returns the arrays of {@link encodedLoop} for these loops. */
export function encode(loops: readonly AbstractLoop[]): { arrays: Record<string, LoopData>; count: number } {
  const iterations = loops.flatMap((loop, l) =>
    loop.iterations.map((operations, i) => ({
      operations,
      base: l * loop.elements,
      seed: mixed(loop.seed, 1000 + i),
    })),
  );
  const slots = Array.from({ length: most }, (_, n) => n);
  return {
    count: iterations.length,
    arrays: {
      values: Int32Array.from(loops.flatMap((loop) => initialState(loop).values)),
      operations: Int8Array.from(
        iterations.flatMap(({ operations }) => slots.flatMap((n) => codeOf(operations[n]))),
      ),
      bases: Int32Array.from(iterations, ({ base }) => base),
      seeds: Int32Array.from(iterations, ({ seed }) => seed),
    },
  };
}
