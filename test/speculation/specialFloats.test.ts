/**
 * Every operator and function of floats, on the values that hardware and drivers treat specially,
 * against JavaScript.
 */

import { speculate } from "belay-speculate/internal/engine/speculate";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import { translate } from "belay-speculate/internal/loops/translate";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate } from "../support/loops/loopPrograms.ts";

const devices = testDevices();

const specials = [
  0,
  1,
  0.5,
  1.5,
  2,
  3,
  2.5,
  0.1,
  10,
  30,
  89,
  100,
  129,
  1e-45,
  1e-40,
  2 ** -126,
  8388607.5,
  2 ** 23,
  2 ** 24 + 2,
  2 ** 31,
  2 ** 32,
  3e38,
  Number.POSITIVE_INFINITY,
  0.49999997,
].flatMap((value) => [value, -value]);
const bitsOf = (numbers: Float32Array) => new Uint32Array(numbers.buffer);
/** NaN in several ways. */
const nans = [0x7fc00000, 0xffc00000, 0x7fc12345, 0xffedcba9];
const values = [...bitsOf(Float32Array.from(specials)), ...nans];
const [xs, ys] = [values.flatMap((x) => values.map(() => x)), values.flatMap(() => values)].map(
  (bits) => new Float32Array(Uint32Array.from(bits!).buffer),
) as [Float32Array, Float32Array];

/** Operations that JavaScript rounds exactly, and a GPU computes exactly. */
const exact = [
  ..."-x,Math.abs(x),Math.sign(x),Math.floor(x),Math.ceil(x),Math.trunc(x),Math.round(x)".split(","),
  "Math.min(x, y)",
  "Math.max(x, y)",
  "x % y",
  "x < y ? x : y",
  "x || y",
  "x && y",
];
/** Values of which a driver may take one for another, and tests between them. */
const choices = ["0", "-0", "x", "-x", "y", "NaN", "kept"].flatMap((yes) =>
  ["0", "-0", "x", "-x", "y"].flatMap((no) =>
    yes === no ? [] : ["x < y", "x === 0", "x !== y", "x"].map((test): Choice => ({ test, yes, no })),
  ),
);
interface Choice {
  readonly test: string;
  readonly yes: string;
  readonly no: string;
}

/** Operations that a driver may simplify by assuming no NaN, no infinity and no −0. */
const withConstants = [
  ..."0 * x,x * 0,-0 * x,x * -0,x * kept,0 / x,-0 / x,x / Infinity,x / -Infinity,x + 0,0 + x,0 - x".split(
    ",",
  ),
  ..."x - -0,x + kept,kept - x,kept / x,-x * 0,x * 0 + y,Math.min(x * 0, y),1 / (x * 0)".split(/,(?! y)/),
];
/** Operations that a GPU may round differently, and whose subnormal numbers may be zero. */
const rounded = [
  ..."x + y,x - y,x * y,x / y,x ** y".split(","),
  "Math.pow(x, y)",
  "Math.atan2(x, y)",
  "Math.hypot(x, y)",
  ..."sqrt exp log log2 sin cos tan asin acos atan sinh cosh tanh"
    .split(" ")
    .map((name) => `Math.${name}(x)`),
  "2 ** x",
];
const comparisons = "=== !== < <= > >=".split(" ").map((operator) => `x ${operator} y`);
const conditions = [
  ...comparisons,
  ...comparisons.map((one) => `!(${one})`),
  ...comparisons.map((one) => `!!(${one}) && x !== 3`),
  ..."=== !== < <= > >=".split(" ").map((operator) => `x ${operator} 0.1`),
  ..."=== !== < <= > >=".split(" ").map((operator) => `0 ${operator} x`),
  ..."x,!x,!!x,x && y,!x || !y,x === x,x !== x,!(x < y || x >= y),!(x <= y && x > 1)".split(","),
];
const integers = ["x | 0", "x >>> 0", "~x", "x & 255", "Math.imul(x, y)", "Math.clz32(x)", "x << 1"];

/** Returns a program with one loop that stores the results of `of`, one after the other. */
function program(of: readonly string[], type: string, store: (one: string) => string): string {
  const stores = of.map((one, k) => `out[i * ${of.length} + ${k}] = ${store(one)};`).join("\n");
  return `export async function run(a: Float32Array, b: Float32Array, out: ${type}) {
    "use speculate";
    //#pragma omp for target(webgpu) speculate(out) precision(f32)
    for (let i = 0; i < ${xs.length}; i++) { const x = a[i]!; const y = b[i]!;
      ${stores}
    }
  }`;
}

async function results<Out extends Float32Array | Int32Array>(
  source: string,
  make: () => Out,
): Promise<Record<"javaScript" | "cpu" | "gpu", Out>> {
  const { loops, diagnostics } = translate(source, "table.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  const [javaScript, cpu, gpu] = [make(), make(), make()];
  await evaluate(source).run!(xs as never, ys as never, javaScript as never);
  const { loop } = loops[0]!;
  const sequential = sequentialLoop(loop);
  sequential({ a: xs, b: ys, out: cpu }, { $first: 0, $step: 1 }, {}, {}, 0, xs.length);
  const rest = { inputs: {}, carried: {}, reductions: {}, first: 0, step: 1, count: xs.length };
  const device = await devices.sharedDevice();
  const arrays = { a: xs, b: ys, out: gpu };
  const { statistics } = await speculate(
    { loop, sequential, arrays, ...rest },
    { device, fallback: "never" },
  );
  expect(statistics.onCpu).toBe(0);
  return { javaScript, cpu, gpu };
}

/** Describes the first few places where a path differs from JavaScript. */
function differences(
  of: readonly string[],
  { javaScript, cpu, gpu }: Record<"javaScript" | "cpu" | "gpu", ArrayLike<number>>,
  isAlike: (value: number, expected: number, x: number, y: number) => boolean = Object.is,
): string[] {
  const found: string[] = [];
  for (const [path, out] of Object.entries({ cpu, gpu })) {
    for (let at = 0; at < javaScript.length; at++) {
      const [i, k] = [Math.floor(at / of.length), at % of.length];
      const [x, y] = [xs[i]!, ys[i]!];
      const same = path === "cpu" ? Object.is : isAlike;
      if (!same(out[at]!, javaScript[at]!, x, y))
        found.push(`${path}: ${of[k]} of ${x} and ${y} is ${out[at]}, not ${javaScript[at]}`);
    }
  }
  return found.slice(0, 20);
}

const isTiny = (value: number) => value !== 0 && Math.abs(value) < 2 ** -126;

/** The ways in which a program chooses; an arm that loads is a branch in a kernel. */
const waysToChoose: Record<string, (choice: Choice, k: number) => string> = {
  "an expression": ({ test, yes, no }, k) => `const r${k} = ${test} ? ${yes} : ${no};`,
  "an expression of loads": ({ test, yes, no }, k) =>
    `const r${k} = ${test} ? ${loaded(yes)} : ${loaded(no)};`,
  "a variable set in a branch": ({ test, yes, no }, k) =>
    `let r${k} = ${no}; if (${test}) { r${k} = ${yes}; }`,
  "a variable set in two branches": ({ test, yes, no }, k) =>
    `let r${k} = 1.5; if (${test}) { r${k} = ${yes}; } else { r${k} = ${no}; }`,
  "assignments of an expression": ({ test, yes, no }, k) =>
    `let r${k} = 1.5; ${test} ? (r${k} = ${loaded(yes)}) : (r${k} = ${no});`,
};
const loaded = (text: string) => text.replace("x", "a[i]!").replace("y", "b[i]!");

it.each(Object.entries(waysToChoose))("choices by %s", async (_, choose) => {
  const of = choices.map(({ test, yes, no }) => `${test} ? ${yes} : ${no}`);
  const statements = choices.map((choice, k) => choose(choice, k).replaceAll("kept", "(x * 0)"));
  const source = program(
    choices.map((_, k) => `r${k}`),
    "Float32Array",
    (one) => one,
  ).replace(/(y = b\[i\]!;)/, (all) => `${all} ${statements.join("\n")}`);
  const found = await results(source, () => new Float32Array(xs.length * of.length));
  expect(differences(of, found)).toEqual([]);
  // The bits tell NaN from NaN. JavaScript leaves the bits of a NaN that it computes open.
  const [expected, cpu, gpu] = [found.javaScript, found.cpu, found.gpu].map(bitsOf);
  const isCopied = choices.map(({ yes, no }) => [yes, no].every((arm) => /^(x|y|-?0)$/.test(arm)));
  const changed = [...expected!.keys()].filter(
    (at) => isCopied[at % of.length] && (cpu![at] !== expected![at] || gpu![at] !== expected![at]),
  );
  const hex = (bits: Uint32Array | undefined, at: number) => bits![at]!.toString(16);
  expect(
    changed.map((at) => `${of[at % of.length]}: ${[expected, cpu, gpu].map((bits) => hex(bits, at))}`),
  ).toEqual([]);
});

it("operations with constants", async () => {
  const of = withConstants.map((one) => one.replaceAll("kept", "(0.5 - 0.5)"));
  const source = program(of, "Float32Array", (one) => one);
  const found = await results(source, () => new Float32Array(xs.length * of.length));
  const isAlike = (value: number, expected: number, x: number, y: number) =>
    Object.is(value, expected) || ([x, y].some(isTiny) && !Number.isNaN(value));
  expect(differences(of, found, isAlike)).toEqual([]);
});

it("conditions", async () => {
  const source = program(conditions, "Int32Array", (one) => `(${one}) ? 1 : 0`);
  const found = await results(source, () => new Int32Array(xs.length * conditions.length));
  expect(differences(conditions, found)).toEqual([]);
});

it("branches and loops", async () => {
  const of = conditions.slice(0, 12);
  const branches = of
    .map(
      (one, k) =>
        `if (${one}) { out[i * ${of.length} + ${k}] = 1; } else { out[i * ${of.length} + ${k}] = 2; }`,
    )
    .join("\n");
  const turns = of.map(
    (one, k) => `for (let t = 0; t < 2; t++) { if (!(${one})) break; out[i * ${of.length} + ${k}] += 4; }`,
  );
  const source = program([], "Int32Array", String).replace(
    /(y = b\[i\]!;)/,
    `$1 ${branches} ${turns.join("\n")}`,
  );
  const found = await results(source, () => new Int32Array(xs.length * of.length));
  expect(differences(of, found)).toEqual([]);
});

it("integers made of floats", async () => {
  const found = await results(
    program(integers, "Int32Array", (one) => one),
    () => new Int32Array(xs.length * integers.length),
  );
  expect(differences(integers, found)).toEqual([]);
});

it("exact operations", async () => {
  const found = await results(
    program(exact, "Float32Array", (one) => one),
    () => new Float32Array(xs.length * exact.length),
  );
  expect(differences(exact, found)).toEqual([]);
});

it("operations that are rounded: infinities, zeros, NaN, and numbers up to their last bits", async () => {
  const found = await results(
    program(rounded, "Float32Array", (one) => one),
    () => new Float32Array(xs.length * rounded.length),
  );
  const isAlike = (value: number, expected: number, x: number, y: number) => {
    // A subnormal number may be zero, as an operand and as a result. Trigonometry is open beyond
    // some periods.
    if (isTiny(x) || isTiny(y) || isTiny(expected) || Math.abs(x) > 100) {
      return (
        Number.isNaN(value) === Number.isNaN(expected) || isTiny(x) || isTiny(y) || Math.abs(expected) > 1e38
      );
    }
    if (Number.isNaN(expected) || !Number.isFinite(expected) || expected === 0)
      return Object.is(value, expected) || (expected === 0 && Math.abs(value) < 1e-5);
    return Math.abs(value - expected) <= 1e-3 * Math.abs(expected) + 1e-6;
  };
  expect(differences(rounded, found, isAlike)).toEqual([]);
});

it("large and small numbers, divided and squared", async () => {
  const of = ["x / y", "x / 3e38", "1 / y", "x * y", "Math.hypot(x, y)", "Math.hypot(x, y, 1e-30)"];
  const found = await results(
    program(of, "Float32Array", (one) => one),
    () => new Float32Array(xs.length * of.length),
  );
  const isAlike = (value: number, expected: number, x: number, y: number) =>
    Object.is(value, expected) ||
    // Subnormal numbers may be zero, as operands and as results.
    isTiny(x) ||
    isTiny(y) ||
    (isTiny(expected) && Math.abs(value) < 2 ** -125) ||
    Math.abs(value - expected) <= 1e-6 * Math.abs(expected);
  expect(differences(of, found, isAlike)).toEqual([]);
});

it("products with subnormal constants, and quotients by constants with a subnormal reciprocal", async () => {
  const constants = [1e-40, -3e-39, 2e38, -3e38, 8.6e37].map(Math.fround);
  const of = constants.flatMap((c) => (isTiny(c) ? [`x * ${c}`, `${c} * x`] : [`x / ${c}`, `${c} / x`]));
  const found = await results(
    program(of, "Float32Array", (one) => one),
    () => new Float32Array(xs.length * of.length),
  );
  // A subnormal number may be zero, as an operand and as a result.
  const isAlike = (value: number, expected: number, x: number, constant: number) =>
    Object.is(value, expected) ||
    isTiny(x) ||
    (isTiny(constant) && Object.is(value, x * Math.sign(constant) * 0)) ||
    (isTiny(expected) && Object.is(value, Math.sign(expected) * 0)) ||
    Math.abs(value - expected) <= 1e-6 * Math.abs(expected);
  for (const [k, one] of of.entries()) {
    const constant = constants[k >> 1]!;
    const each = (out: Float32Array) => out.filter((_, at) => at % of.length === k);
    const alone = { javaScript: each(found.javaScript), cpu: each(found.cpu), gpu: each(found.gpu) };
    expect(differences([one], alone, (value, expected, x) => isAlike(value, expected, x, constant))).toEqual(
      [],
    );
  }
});

it("sums over iterations, some of which add nothing", async () => {
  const source = `export async function run(a: Float32Array) {
    "use speculate";
    let sum = -0;
    //#pragma omp for target(webgpu) reduction(+:sum) precision(f32)
    for (let i = 0; i < a.length; i++) { if (a[i]! < 1) sum += a[i]!; }
    return sum;
  }`;
  const { loop } = translate(source, "table.ts").loops[0]!;
  const device = await devices.sharedDevice();
  for (const some of [[-0], [-0, 5], [5], [0, -0], [5, 5, Number.NaN]]) {
    const a = Float32Array.from({ length: 300 }, (_, i) => some[i % some.length]!);
    const expected = await evaluate(source).run!(a as never);
    const call = { loop, sequential: sequentialLoop(loop), arrays: { a }, inputs: {}, carried: {} };
    const rest = { reductions: { sum: -0 }, first: 0, step: 1, count: a.length };
    const { reductions } = await speculate({ ...call, ...rest }, { device, fallback: "never" });
    expect(reductions.sum).toBe(expected);
  }
});

it("minima and maxima over iterations", async () => {
  const source = `export async function run(a: Float32Array) {
    "use speculate";
    let low = 5, high = -5;
    //#pragma omp for target(webgpu) reduction(min:low) reduction(max:high) precision(f32)
    for (let i = 0; i < a.length; i++) { low = Math.min(low, a[i]!); high = Math.max(high, a[i]!); }
    return [low, high];
  }`;
  const { loop } = translate(source, "table.ts").loops[0]!;
  const device = await devices.sharedDevice();
  for (const some of [
    [0, -0],
    [-0, 0],
    [3, Number.NaN, 4],
    [1e-45, -1e-45],
    [Number.NEGATIVE_INFINITY, 1e-40],
  ]) {
    const a = Float32Array.from({ length: 300 }, (_, i) => some[i % some.length]!);
    const expected = (await evaluate(source).run!(a as never)) as number[];
    const call = { loop, sequential: sequentialLoop(loop), arrays: { a }, inputs: {}, carried: {} };
    const rest = { reductions: { low: 5, high: -5 }, first: 0, step: 1, count: a.length };
    const { reductions } = await speculate({ ...call, ...rest }, { device, fallback: "never" });
    expect([reductions.low, reductions.high]).toEqual(expected);
  }
});
