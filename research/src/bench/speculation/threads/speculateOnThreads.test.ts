import { describe, expect, it } from "vitest";
import {
  type AbstractLoop,
  type AbstractOperation,
  runInOrder,
} from "../../../../../test/speculation/abstractLoops.ts";
import { encode, encodedLoop } from "../../../../../test/speculation/encodedLoop.ts";
import { mixed } from "../../../../../test/speculation/mixing.ts";
import { speculateOnThreads } from "./speculateOnThreads.ts";

describe("speculation on threads", () => {
  it.each([
    ["independent", 0],
    ["rarely dependent", 3],
    ["dependent", 100],
  ])("runs %s iterations as in sequence", async (_, percent) => {
    const count = 1500;
    // Each iteration stores to one of eight elements, or to none. Some read an element that any
    // other iteration wrote.
    const iterations = Array.from({ length: count }, (_, i): AbstractOperation[] =>
      mixed(1, i) >>> 0 < (percent / 100) * 2 ** 32
        ? [{ kind: "loadAnywhere" }, { kind: "storeAnywhere" }]
        : [],
    );
    const abstract: AbstractLoop = { elements: 8, seed: 1, iterations };
    const { arrays } = encode([abstract]);
    const variables = { carried: {}, reductions: {} };
    const run = { arrays, inputs: {}, first: 0, step: 1, count, ...variables };
    const { executed, misspeculated } = await speculateOnThreads(encodedLoop(8, false), run, 3);
    expect(executed).toBe(count);
    expect(misspeculated > 0).toBe(percent > 0);
    expect([...arrays.values!]).toEqual([...runInOrder(abstract).values]);
  });
});
