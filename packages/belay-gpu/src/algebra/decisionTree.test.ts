import { describe, expect, it } from "vitest";
import { DecisionTree } from "./decisionTree.ts";
import type { FunctionOfSum } from "./functionOfSum.ts";

const source = { buffer: 0, format: "f32", plus: 0 } as const;
/** Returns a function of the sum and of as many loaded numbers. */
const part = (result: string, loads = 0): FunctionOfSum => ({
  statements: "",
  result,
  loaded: Array.from({ length: loads }, (_, address) => ({ source, address })),
  usesSum: result.includes("x"),
});
const isNegative = part("x < 0.0f");
const decision = (site: number, condition: FunctionOfSum, answer: boolean) => ({ site, condition, answer });

describe("the paths of a function", () => {
  it("are asked for until none is missing", () => {
    const tree = new DecisionTree();
    tree.add([decision(3, isNegative, false), decision(4, part("x > y0", 1), false)], part("x"));
    expect(tree.missing()).toEqual({
      known: new Map([
        [3, false],
        [4, true],
      ]),
      others: true,
    });
    tree.add([decision(3, isNegative, false), decision(4, part("x > y0", 1), true)], part("y0", 1));
    expect(tree.missing()).toEqual({ known: new Map([[3, true]]), others: true });
    tree.add([decision(3, isNegative, true)], part("y0 * x", 1));
    expect(tree.missing()).toBeUndefined();
    expect(tree.whole()).toEqual({
      text: "if (x < 0.0f) { return y0 * x; } else { if (x > y1) { return y2; } else { return x; } }",
      loaded: [0, 0, 0].map((address) => ({ source, address })),
    });
  });

  it.each([
    ["another condition", [decision(3, part("x < 1.0f"), true)], part("x")],
    ["another place", [decision(4, isNegative, true)], part("x")],
    ["no decision", [], part("x")],
    ["another result", [decision(3, isNegative, false)], part("-x")],
  ])("are several functions with %s", (_, decisions, leaf) => {
    const tree = new DecisionTree();
    tree.add([decision(3, isNegative, false)], part("x"));
    expect(() => tree.add(decisions, leaf)).toThrow("its results are several functions of sums");
  });

  it("are no function without the sum, or with too many loaded numbers", () => {
    for (const leaf of [part("1.0f"), part("x", 5)]) {
      const tree = new DecisionTree();
      tree.add([], leaf);
      expect(tree.whole()).toBeUndefined();
    }
  });
});
