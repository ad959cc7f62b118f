import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sequentialLoop } from "../../javascript/sequential.ts";
import { translate } from "../../translate.ts";
import type { BodyStatement, Loop, LoopExpression, LoopOperator, NumberType } from "../../tree/ir.ts";
import { everyStatement } from "../../tree/walk.ts";
import type { LoopNumbers } from "../prove.ts";
import { specialize } from "./specialize.ts";

const loopFrom = (parameters: string, text: string): Loop => {
  const source = `export async function test(${parameters}) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(a) precision(f32)
  ${text}
}`;
  const { loops, diagnostics } = translate(source, "test.ts");
  expect(diagnostics).toEqual([]);
  return loops[0]!.loop;
};

/** Returns the proof about each access, in order, and the trips of loops. */
function provenIn(loop: Loop): string[] {
  const found: string[] = [];
  JSON.stringify(loop.body, (_, value) => {
    if (value?.kind === "load" || value?.kind === "store") {
      found.push(`${value.kind} ${value.array}${value.inside ? " inside" : ""}`);
    }
    return value;
  });
  for (const statement of everyStatement(loop.body)) {
    if (statement.kind === "loop") found.push(`most ${statement.most}`);
  }
  return found;
}

const numbers: LoopNumbers = {
  inputs: { width: 10 },
  lengths: { a: 100, p: 10 },
  first: 0,
  step: 1,
  count: 10,
};
const rows = loopFrom(
  "a: Float32Array, p: Uint8Array, width: number",
  "for (let i = 0; i < p.length; i++) { for (let k = 0; k < width; k++) { a[i * width + k] = a[p[i]! + k]!; } }",
);

describe("what numbers prove of a loop", () => {
  it("is that accesses stay inside, and how often inner loops run", () => {
    expect(provenIn(specialize(rows, numbers))).toEqual([
      "store a inside",
      "load a",
      "load p inside",
      "most 16",
    ]);
  });

  it("is less where an array is shorter", () => {
    const shorter = { ...numbers, lengths: { a: 99, p: 9 } };
    expect(provenIn(specialize(rows, shorter))).toEqual(["store a", "load a", "load p", "most 16"]);
  });

  it("is the same loop for numbers that prove the same, and few loops in all", () => {
    const one = specialize(rows, numbers);
    expect(specialize(rows, { ...numbers, lengths: { a: 200, p: 10 } })).toBe(one);
    const all = Array.from({ length: 31 }, (_, bits) =>
      specialize(rows, { ...numbers, inputs: { width: 2 ** bits } }),
    );
    expect(new Set(all).size).toBeLessThan(10);
  });

  it("is nothing about what an inner loop changes, or a counter that may wrap", () => {
    const loop = loopFrom(
      "a: Int32Array, n: number",
      "for (let i = 0; i < 10; i++) { let x = 0; for (let k = 0; k <= n; k++) { x = (x + 3) | 0; } a[x] = 1; }",
    );
    const wide = { ...numbers, inputs: { n: 2 ** 31 - 1 } };
    expect(provenIn(specialize(loop, wide))).toEqual(["store a", "most undefined"]);
    expect(provenIn(specialize(loop, { ...wide, inputs: { n: 5 } }))).toEqual(["store a", "most 8"]);
  });

  it("is that loads of an inner loop can be under way together", () => {
    const sums = loopFrom(
      "a: Int32Array, p: Int32Array, n: number",
      "for (let i = 0; i < 4; i++) { let x = 0; for (let k = 1; k < n; k += 3) { x = (x + Math.imul(p[k]!, k)) | 0; } a[i] = x; }",
    );
    const p = Int32Array.from({ length: 200 }, (_, k) => k * k);
    for (const n of [0, 1, 22, 23, 24, 25, 26, 27, 50, 97, 200]) {
      const given = { inputs: { n }, lengths: { a: 4, p: 200 }, first: 0, step: 1, count: 4 };
      const unrolled = specialize(sums, given);
      expect(provenIn(unrolled).includes("most 7")).toBe(n >= 26);
      const [before, after] = [sums, unrolled].map((loop) => {
        const a = new Int32Array(4);
        sequentialLoop(loop)({ a, p }, { n, $first: 0, $step: 1 }, {}, {}, 0, 4);
        return a;
      });
      expect(after).toEqual(before);
    }
  });
});

describe("random indices", () => {
  const span = { start: 0, end: 0 };
  const index: LoopExpression = { kind: "index", type: "i32" };
  const local = (name: string): LoopExpression => ({ kind: "local", type: "i32", name });
  const literal = (value: number): LoopExpression => ({ kind: "literal", type: "i32", value });
  const type: NumberType = "i32";
  const operators: LoopOperator[] = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>"];
  const { value } = fc.letrec<{ value: LoopExpression }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<LoopExpression>(index, local("k"), { kind: "input", type, name: "n" }, local("x")),
      fc.integer({ min: -3, max: 40 }).map(literal),
      fc
        .tuple(fc.constantFrom(...operators), tie("value"), tie("value"))
        .map(([operator, left, right]): LoopExpression => {
          const made: LoopExpression = { kind: "binary", type, operator, left, right };
          return { kind: "convert", type, operand: operator === ">>>" ? { ...made, type: "u32" } : made };
        }),
      fc
        .tuple(fc.constantFrom("min", "max", "imul", "abs"), tie("value"), tie("value"))
        .map(([callee, one, other]): LoopExpression => {
          const args = callee === "abs" ? [one] : [one, other];
          return { kind: "call", type, callee: callee as "min", args };
        }),
      fc.tuple(tie("value"), tie("value"), tie("value")).map(([one, yes, no]): LoopExpression => {
        const test: LoopExpression = {
          kind: "binary",
          type: "bool",
          operator: "<",
          left: one,
          right: literal(2),
        };
        return { kind: "conditional", type, test, yes, no };
      }),
    ),
  }));

  /** `x = …; for (k = 0; k < n; k++) { a[…] = 1; if (… < 2) x = …; } a[…] = 1` */
  const loopOf = ([first, inner, changed, last]: LoopExpression[]): Loop => {
    const store = (at: LoopExpression): BodyStatement => ({
      kind: "store",
      array: "a",
      index: at,
      value: literal(1),
      span,
    });
    const less = (left: LoopExpression, right: LoopExpression): LoopExpression => ({
      kind: "binary",
      type: "bool",
      operator: "<",
      left,
      right,
    });
    const assign = (name: string, value: LoopExpression): BodyStatement => ({ kind: "assign", name, value });
    const leave: BodyStatement[] = [{ kind: "break", label: "inner" }];
    return {
      name: "test",
      span,
      index: { name: "i", type },
      inputs: [{ name: "n", type }],
      carried: [],
      reductions: [],
      addressesAreFixed: true,
      mostLoads: null,
      mostStores: null,
      schedule: { iterationsPerRound: null },
      arrays: ["a", "inside"].map((name) => ({ name, element: "i32", role: "tracked" })),
      body: [
        { kind: "declare", name: "x", type, value: literal(5) },
        { kind: "declare", name: "k", type, value: literal(0) },
        assign("x", first!),
        {
          kind: "loop",
          label: "inner",
          body: [
            {
              kind: "if",
              test: {
                kind: "unary",
                type: "bool",
                operator: "!",
                operand: less(local("k"), { kind: "input", type, name: "n" }),
              },
              yes: leave,
              no: [],
            },
            store(inner!),
            { kind: "if", test: less(changed!, literal(2)), yes: [assign("x", changed!)], no: [] },
          ],
          update: [assign("k", { kind: "binary", type, operator: "+", left: local("k"), right: literal(1) })],
        },
        store(last!),
      ],
    };
  };

  it("are inside where that is proven", () => {
    const length = 50;
    let proven = 0;
    const property = fc.property(
      fc.tuple(value, value, value, value),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: -3, max: 20 }),
      (values, n, first) => {
        const lengths = { a: length, inside: length };
        const loop = specialize(loopOf(values), { inputs: { n }, lengths, first, step: 3, count: 5 });
        // What is proven goes to an array that has nothing else.
        const split: Loop = JSON.parse(JSON.stringify(loop), (_, part) =>
          part?.inside ? { ...part, array: "inside" } : part,
        );
        const inside = new Proxy(new Int32Array(length), {
          set: (_, place) => {
            expect(Number(place)).toBeGreaterThanOrEqual(0);
            expect(Number(place)).toBeLessThan(length);
            proven++;
            return true;
          },
        });
        const arrays = { a: new Int32Array(length), inside };
        sequentialLoop(split)(arrays, { n, $first: first, $step: 3 }, {}, {}, 0, 5);
      },
    );
    fc.assert(property, { numRuns: 500, seed: 1 });
    expect(proven).toBeGreaterThan(500);
  });
});
