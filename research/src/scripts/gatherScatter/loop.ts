import type { Loop, LoopExpression } from "belay-speculate/internal/loops/tree/ir";

const span = { start: 0, end: 0 };
const index: LoopExpression = { kind: "index", type: "i32" };
const load = (array: string, type: "u32" | "f32", at: LoopExpression): LoopExpression => ({
  kind: "load",
  type,
  array,
  index: at,
  span,
});
const arithmetic = (operator: "+" | "*", left: LoopExpression, value: number): LoopExpression => ({
  kind: "binary",
  type: "f32",
  operator,
  left,
  right: { kind: "literal", type: "f32", value },
});
/** The loop `a[p[i]] = a[q[i]] * 0.5 + 1`. */
export const gatherScatter: Loop = {
  name: "gatherScatter",
  span,
  index: { name: "i", type: "i32" },
  arrays: [
    { name: "a", element: "f32", role: "tracked" },
    { name: "p", element: "u32", role: "read" },
    { name: "q", element: "u32", role: "read" },
  ],
  inputs: [],
  carried: [],
  reductions: [],
  body: [
    {
      kind: "store",
      array: "a",
      index: load("p", "u32", index),
      value: arithmetic("+", arithmetic("*", load("a", "f32", load("q", "u32", index)), 0.5), 1),
      span,
    },
  ],
  addressesAreFixed: true,
  mostLoads: 1,
  mostStores: 1,
  schedule: { iterationsPerRound: null },
};
