import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DawnValidator, startDawn } from "../../../../../../test/support/wgsl/dawnValidator.ts";
import type { BodyStatement, Loop, LoopArray, LoopExpression } from "../../tree/ir.ts";
import { arithmeticFor } from "./arithmetic.ts";
import { type Effects, emitBody } from "./body.ts";
import { bufferType, emitPeek, emitPoke } from "./memory.ts";
import { wgslName } from "./names.ts";
import { declareParameters, packParameters, parametersOf } from "./parameters.ts";

const span = { start: 0, end: 0 };
const index: LoopExpression = { kind: "index", type: "i32" };
const local = (name: string, type: "i32" | "bool" = "i32"): LoopExpression => ({ kind: "local", type, name });
const i32 = (value: number): LoopExpression => ({ kind: "literal", type: "i32", value });
const load = (array: string, at: LoopExpression): LoopExpression => ({
  kind: "load",
  type: "i32",
  array,
  index: at,
  span,
});
const store = (array: string, at: LoopExpression, value: LoopExpression): BodyStatement => ({
  kind: "store",
  array,
  index: at,
  value,
  span,
});

function loopOf(body: BodyStatement[], more: Partial<Loop> = {}): Loop {
  return {
    name: "test",
    span,
    index: { name: "i", type: "i32" },
    arrays: [
      { name: "a", element: "i32", role: "tracked" },
      { name: "p", element: "u8", role: "read" },
    ],
    inputs: [],
    carried: [],
    reductions: [],
    body,
    addressesAreFixed: true,
    mostLoads: null,
    mostStores: null,
    schedule: { iterationsPerRound: null },
    ...more,
  };
}

/** No speculation: accesses go straight to memory. */
const direct: Effects = {
  load: ({ name }) => `  return peek_${wgslName(name)}(element);`,
  store: ({ name }) => `  poke_${wgslName(name)}(element, bits);`,
  loadCarried: (_, slot) => `  return carried[${slot}];`,
  storeCarried: (_, slot) => `  carried[${slot}] = bits;`,
  bailOut: "",
  endLoop: "",
  misspeculate: "",
};

/** A whole module around the body, as an engine writes it. */
function moduleOf(loop: Loop): string {
  const access = ({ role }: LoopArray) => (role === "read" ? "read" : "write");
  const arrays = loop.arrays.map((array, place) => {
    const space = array.role === "read" ? "storage, read" : "storage, read_write";
    return `@group(0) @binding(${place + 2}) var<${space}> array_${wgslName(array.name)}: ${bufferType(array, access(array))};`;
  });
  const code = [
    declareParameters(parametersOf(loop, [])),
    "@group(0) @binding(0) var<uniform> params: Parameters;",
    "@group(0) @binding(1) var<storage, read_write> carried: array<u32, 4>;",
    ...arrays,
    ...loop.arrays.map((array) => emitPeek(array, access(array))),
    ...loop.arrays.filter(({ role }) => role !== "read").map(emitPoke),
    emitBody(loop, direct),
    `@compute @workgroup_size(64) fn run(@builtin(global_invocation_id) id: vec3u) {
  fuel = 1000u;
  start_reductions();
  iterate(params.first + ${loop.index.type}(id.x) * ${loop.index.type}(params.step));
}`,
  ].join("\n\n");
  return `${code}\n\n${arithmeticFor(code)}\n`;
}

describe("the body of a loop", () => {
  let dawn: DawnValidator;
  beforeAll(async () => {
    dawn = await startDawn();
  });
  afterAll(() => dawn.close());
  const expectValid = async (loop: Loop) => {
    const code = moduleOf(loop);
    expect(await dawn.validate(code), code).toEqual({ ok: true });
  };

  it("is what a person would write", async () => {
    const loop = loopOf([
      store("a", load("p", index), {
        kind: "binary",
        type: "i32",
        operator: "+",
        left: load("a", index),
        right: i32(1),
      }),
    ]);
    await expectValid(loop);
    await expect(emitBody(loop, direct)).toMatchFileSnapshot("goldens/body.wgsl");
  });

  it("evaluates only the side of a choice that is taken", async () => {
    const choice: LoopExpression = {
      kind: "conditional",
      type: "i32",
      test: { kind: "binary", type: "bool", operator: "<", left: index, right: i32(4) },
      yes: load("a", load("p", index)),
      no: i32(0),
    };
    const both: LoopExpression = {
      kind: "binary",
      type: "bool",
      operator: "&&",
      left: { kind: "binary", type: "bool", operator: ">", left: index, right: i32(2) },
      right: { kind: "binary", type: "bool", operator: "==", left: choice, right: i32(3) },
    };
    const loop = loopOf([{ kind: "if", test: both, yes: [store("a", index, choice)], no: [] }]);
    await expectValid(loop);
    await expect(emitBody(loop, direct)).toMatchFileSnapshot("goldens/choices.wgsl");
  });

  it("merges floats of several branches as bits", async () => {
    const f32 = (value: number): LoopExpression => ({ kind: "literal", type: "f32", value });
    const test: LoopExpression = { kind: "binary", type: "bool", operator: "<", left: index, right: i32(4) };
    const loaded: LoopExpression = { kind: "convert", type: "f32", operand: load("a", index) };
    const choice: LoopExpression = { kind: "conditional", type: "f32", test, yes: f32(-0), no: loaded };
    const loop = loopOf([
      { kind: "declare", name: "x", type: "f32", value: choice },
      { kind: "if", test, yes: [{ kind: "assign", name: "x", value: f32(-0) }], no: [] },
      store("a", index, { kind: "local", type: "f32", name: "x" }),
      store("a", index, { kind: "conditional", type: "f32", test, yes: f32(1), no: f32(-0) }),
    ]);
    await expectValid(loop);
    await expect(emitBody(loop, direct)).toMatchFileSnapshot("goldens/floatChoices.wgsl");
  });

  it("jumps out of nested loops", async () => {
    const jump = (kind: "break" | "continue", label: string): BodyStatement => ({ kind, label });
    const test = (limit: number): LoopExpression => ({
      kind: "binary",
      type: "bool",
      operator: ">",
      left: local("n"),
      right: i32(limit),
    });
    const inner: BodyStatement = {
      kind: "loop",
      label: "inner",
      body: [
        { kind: "if", test: test(30), yes: [jump("break", "outer")], no: [] },
        { kind: "if", test: test(20), yes: [jump("continue", "outer")], no: [jump("break", "inner")] },
      ],
      update: [],
    };
    const loop = loopOf([
      { kind: "declare", name: "n", type: "i32", value: i32(0) },
      {
        kind: "loop",
        label: "outer",
        body: [inner, jump("break", "outer")],
        update: [
          {
            kind: "assign",
            name: "n",
            value: { kind: "binary", type: "i32", operator: "+", left: local("n"), right: i32(1) },
          },
        ],
      },
    ]);
    await expectValid(loop);
    await expect(emitBody(loop, direct)).toMatchFileSnapshot("goldens/jumps.wgsl");
  });

  it("keeps constants from being evaluated, and refused, too early", async () => {
    const ops = ["+", "-", "*", "/", "%", "<<", ">>"] as const;
    const overflowing = ops.map((operator): BodyStatement => {
      const left = i32(0x7fffffff);
      return store("a", index, { kind: "binary", type: "i32", operator, left, right: i32(0) });
    });
    const huge: LoopExpression = { kind: "literal", type: "f32", value: 3e38 };
    const infinite: LoopExpression = { kind: "literal", type: "f32", value: "Infinity" };
    await expectValid(
      loopOf([
        ...overflowing,
        store("a", i32(-1), { kind: "unary", type: "i32", operator: "-", operand: i32(-0x80000000) }),
        store("a", index, { kind: "binary", type: "f32", operator: "*", left: huge, right: huge }),
        store("a", infinite, { kind: "literal", type: "f32", value: "NaN" }),
      ]),
    );
  });

  it("has every kind of effect", async () => {
    const loop = loopOf(
      [
        { kind: "assignCarried", name: "$last", value: { kind: "carried", type: "f32", name: "$last" } },
        { kind: "reduce", name: "sum", value: index },
        { kind: "reduce", name: "best", value: { kind: "convert", type: "f32", operand: index } },
        { kind: "misspeculate", which: { kind: "relative", offsets: [1, -2] }, span },
        { kind: "misspeculate", which: { kind: "range", from: 0, to: null }, span },
        { kind: "misspeculate", which: { kind: "absolute", index }, span },
        { kind: "endLoop" },
      ],
      {
        carried: [{ name: "$last", type: "f32" }],
        reductions: [
          { name: "sum", type: "i32", operator: "+" },
          { name: "best", type: "f32", operator: "min" },
        ],
      },
    );
    await expectValid(loop);
    await expect(emitBody(loop, direct)).toMatchFileSnapshot("goldens/effects.wgsl");
  });
});

describe("parameters", () => {
  it("keep the bits of every type", () => {
    const loop = loopOf([], { inputs: [{ name: "x", type: "f32" }] });
    const parameters = parametersOf(loop, ["fuel"]);
    const values = { first: -1, step: 2, count: 3, length_a: 4, length_p: 5, input_x: 1, fuel: 0xffffffff };
    expect([...packParameters(parameters, values)]).toEqual([0xffffffff, 2, 3, 4, 5, 0x3f800000, 0xffffffff]);
    expect(() => packParameters(parameters, { first: 0 })).toThrow("the parameter step has no value");
  });
});
