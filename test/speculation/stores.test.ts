/**
 * Stores of numbers at which conversions change their result, to arrays of each class. Both
 * processors leave what the source leaves as it is written.
 */
import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, evaluateTranslated, executeInParts } from "../support/loops/loopPrograms.ts";
import { sample } from "../support/sample.ts";

const devices = testDevices({ full: true });

const classes = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
];

const halves = [0.5, -0.5, 1.5, 2.5, 254.5, 254.5 + 2 ** -40, 255.5, -128.5, 32767.5, 65535.9];
const integers = [0, -0, -1, 128, 256, 1e5, 2 ** 24 + 1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32 - 1];
const wide = [2 ** 32, 2 ** 32 + 3.5, -(2 ** 32) - 1, 2 ** 53 - 1, -(2 ** 53), 2 ** 63 + 2 ** 40, 1e20];
const special = [1e-45, 5e-324, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const singles = [...halves, ...integers, ...wide, ...special];
/** Further numbers, which only doubles hold. */
const numbers = [...singles, 1e39, 1e300, -1e300];

const constantStores = (values: readonly number[]) =>
  values.map((value, at) => `out[64 * i + ${at}] = ${Object.is(value, -0) ? "-0" : value};`).join(" ");

/** Bodies of loops of so many iterations, with the numbers from outside for which they run. */
const stores: readonly (readonly [body: string, iterations: number, outside: readonly number[]])[] = [
  [constantStores(singles), 1, [0]],
  [constantStores(numbers), 1, [0]],
  ["out[i] = x;", 1, numbers],
  ["out[i] = i > 0 ? x / 3 : -x;", 2, [0, 3.3, 254.4 * 3, -768, 1e30]],
  [
    "out[4 * i] = f[i]!; out[4 * i + 1] = d[i]!; out[4 * i + 2] = f[i]! * x; out[4 * i + 3] = i / 2;",
    numbers.length,
    [0.5],
  ],
];

it.each(classes.map((one, row) => [one.name, one, row] as const))(
  "leave in a %s what JavaScript leaves",
  async (name, arrayClass, row) => {
    const device = await devices.sharedDevice();
    const source = stores
      .map(
        ([body], at) => `
export async function run${at}(out: ${name}, f: Float32Array, d: Float64Array, x: number, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu)
  for (let i = 0; i < n; i++) { ${body} }
}`,
      )
      .join("");
    const { code, diagnostics } = replaceLoops(source, "stores.ts");
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const written = evaluate(source);
    const executions = [
      evaluate(code!, executeInParts),
      evaluate(code!, (call: SpeculateCall) => speculate(call, { device, fallback: "never" })),
    ];
    for (const [at, [body, n, outside]] of stores.entries()) {
      for (const x of name.startsWith("Uint8C") ? outside : sample(outside, row, 5)) {
        const resultOf = async (exports: typeof written) => {
          const out = new arrayClass(4 * numbers.length);
          const data = [out, Float32Array.from(numbers), Float64Array.from(numbers), x, n];
          await exports[`run${at}`]!(...(data as never[]));
          return out;
        };
        const expected = await resultOf(written);
        for (const one of executions) expect(await resultOf(one), `${body} for ${x}`).toEqual(expected);
      }
    }
  },
);

/** Indices that are no elements for some `i`, given that `k` is shorter than the loop. */
const indices = ["k[i]!", "k[i]! / 2", "k[i]! % m", "k[i]! - 1", "-i", "f[i]!", "k[k[i]!]!"];
/** Statements that change what is at an index. The property `undefined` keeps the number itself. */
const changes = [
  (at: string) => `out[${at}] = i + 0.5;`,
  (at: string) => `out[${at}] = k[i]!;`,
  (at: string) => `out[${at}] = -x;`,
  (at: string) => `out[${at}] += x; out[${at}] ^= 3;`,
  (at: string) => `last = --out[${at}]!;`,
  (at: string) => `last = out[${at}]!--;`,
  (at: string) => `last = (out[${at}] = x * 3);`,
];

it.each(classes.map((one) => [one.name, one] as const))(
  "leave the properties of a %s that JavaScript leaves",
  async (name, arrayClass) => {
    for (const [at, index] of indices.entries()) {
      const change = changes.map((one) => one(index));
      const source = change
        .map(
          (statement, one) => `
export async function run${one}(out: ${name}, k: Int32Array, f: Float32Array, m: number, x: number) {
  "use speculate";
  let last = 0;
  for (let i = 0; i < 5; i++) { ${statement} }
  return last;
}`,
        )
        .join("");
      const [written, translated] = [evaluate(source), evaluateTranslated(source)];
      for (const [one, statement] of change.entries())
        for (const x of [0.1, -0, 2 ** 40]) {
          const resultOf = async ({ exports }: { exports: typeof written }) => {
            const out = new arrayClass([1, 2, 3, 4]);
            const data = [out, Int32Array.of(3, -1, 2), Float32Array.of(1.5, Number.NaN), at % 2, x];
            const returned = await exports[`run${one}`]!(...(data as never[]));
            return { returned, properties: Object.entries(out) };
          };
          const expected = await resultOf({ exports: written });
          expect(await resultOf(translated), `${statement} for ${x}`).toEqual(expected);
        }
    }
  },
);

/** Expressions of an element `X`. JavaScript makes some of them a number if it is missing. */
const forms = [
  ...["X", "+X", "X - 0", "X * 1", "Math.fround(X)", "Math.floor(X)", "Math.round(X)", "Math.min(X)"],
  ...["X | 0", "X ?? 7", "X || 7", "X && 7", "(last = X)", "i > 9 ? 1 : X", "identity(X)", "Math.abs(X)"],
];

it.each([
  ["Int32Array", "k[i]!"],
  ["Uint8Array", "c[i]!"],
  ["Float32Array", "f[i]!"],
  ["Float64Array", "d[i]!"],
])("give a missing element of a %s the value that JavaScript gives it", async (_, element) => {
  for (const form of forms) {
    const value = form.replace("X", element);
    const source = `function identity(x: number) { return x; }
export async function run(out: Float64Array, k: Int32Array, c: Uint8Array, f: Float32Array, d: Float64Array) {
  "use speculate";
  let last = 0, once = 0;
  for (let i = 0; i < 5; i++) { const v = ${value}; out[i] = v; out[k[i]!] = v; last = v; if (i === 3) once = v; }
  return [last, once];
}`;
    const resultOf = async ({ exports }: { exports: ReturnType<typeof evaluate> }) => {
      const out = Float64Array.of(1, 2, 3, 4, 5);
      const elements = [3, 1, 2] as const;
      const data = [Int32Array, Uint8Array, Float32Array, Float64Array].map((one) => one.of(...elements));
      return {
        returned: await exports.run!(...([out, ...data] as never[])),
        properties: Object.entries(out),
      };
    };
    const { code } = replaceLoops(source, "stores.ts");
    const withoutDevice = evaluate(code!, (call: SpeculateCall) => speculate(call));
    const expected = await resultOf({ exports: evaluate(source) });
    expect(await resultOf({ exports: withoutDevice }), value).toEqual(expected);
  }
});

it("refuse `??` of a value that may be a missing element", () => {
  const { diagnostics } = replaceLoops(
    `export async function run(out: Float64Array, d: Float64Array) {
  "use speculate";
  for (let i = 0; i < 5; i++) { const v = d[i - 1]!; out[i] = v ?? 7; }
}`,
    "stores.ts",
  );
  expect(diagnostics.map(({ message }) => message).join()).toContain(
    "`??` of a value that may be an element",
  );
});
