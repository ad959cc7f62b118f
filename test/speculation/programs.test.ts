/** Programs whose loops run on a device give the same results as written. */

import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate } from "../support/loops/loopPrograms.ts";

const devices = testDevices();

/**
 * Runs a program as written and translated, on copies of the parameters. Returns both results, and
 * the number of executed loops.
 */
async function both(source: string, parameters: () => unknown[]) {
  const device = await devices.newDevice();
  let executed = 0;
  const { code, diagnostics } = replaceLoops(source, "program.ts");
  const translated = evaluate(code ?? source, async (call) => {
    executed++;
    return speculate(call, { device, fallback: "never" });
  });
  const outcome = async (run: (...parameters: never[]) => unknown) => {
    const given = parameters();
    return { returned: await run(...(given as never[])), given };
  };
  const [expected, found] = [await outcome(evaluate(source).run!), await outcome(translated.run!)];
  expect(found).toEqual(expected);
  return { executed, codes: diagnostics.map(({ code }) => code), found };
}

const loop = (declared: string, clauses: string, body: string, parameters = "a: Int32Array, n: number") =>
  `export async function run(${parameters}) {
    "use speculate";
    ${declared}
    //#pragma omp for target(webgpu) speculate(a) ${clauses}
    for (let i = 0; i < n; i++) { ${body} }
    return s;
  }`;

const integers = () =>
  Int32Array.from({ length: 60 }, (_, i) => Math.imul(i * 7919 + 1, 0x9e3779b1) >> (i % 30));

it.each([
  ["an LCG", "s = (Math.imul(s, 1664525) + 1013904223) >>> 0; a[i] = s;"],
  [
    "a CRC",
    "s = (s ^ a[i]!) >>> 0; for (let k = 0; k < 8; k++) s = ((s >>> 1) ^ (0xedb88320 & -(s & 1))) >>> 0;",
  ],
  ["FNV", "s = Math.imul(s ^ (a[i]! & 255), 16777619) >>> 0;"],
  [
    "a xorshift",
    "s = (s ^ (s << 13)) >>> 0; s = (s ^ (s >>> 17)) >>> 0; s = (s ^ (s << 5)) >>> 0; a[i] = s & 1023;",
  ],
])("carries an unsigned integer: %s", async (_, body) => {
  for (const first of [1, 0xffffffff, 2 ** 31]) {
    const { executed } = await both(loop(`let s = ${first};`, "", body), () => [integers(), 60]);
    expect(executed).toBe(1);
  }
  const outside = loop("let s = seed;", "", body, "a: Int32Array, n: number, seed: number");
  expect((await both(outside, () => [integers(), 60, 2 ** 32 - 5])).executed).toBe(1);
  // The host runs the loop as written if the value before it is not of the type.
  for (const seed of [-1, 0.5, 2 ** 32, Number.NaN]) {
    expect((await both(outside, () => [integers(), 60, seed])).executed).toBe(0);
  }
});

it("reduces to an unsigned integer", async () => {
  for (const [clause, body] of [
    ["+", "s = (s + a[i]!) >>> 0;"],
    ["+", "s = (s - a[i]!) >>> 0;"],
    ["^", "s = (s ^ a[i]!) >>> 0;"],
    ["&", "s = (s & a[i]!) >>> 0;"],
  ]) {
    const source = loop(
      "let s = seed;",
      `reduction(${clause}:s)`,
      body!,
      "a: Int32Array, n: number, seed: number",
    );
    expect((await both(source, () => [integers(), 60, 0xfffffff0])).executed).toBe(1);
    expect((await both(source, () => [integers(), 60, -4])).executed).toBe(0);
  }
});

it.each([
  [
    "a parameter called Math",
    "",
    "a: Int32Array, n: number, Math: number",
    "a[i] = a[i]! + Math;",
    ["BELAY511"],
  ],
  [
    "an object called Math",
    "const Math = { max: () => 7, imul: () => 3 };",
    "a: Int32Array, n: number",
    "a[i] = Math.max();",
    ["BELAY511"],
  ],
  ["a variable called NaN", "const NaN = 5;", "a: Int32Array, n: number", "a[i] = NaN;", []],
  [
    "a variable called Infinity",
    "let Infinity = 5;",
    "a: Int32Array, n: number",
    "a[i] = a[i]! + Infinity;",
    [],
  ],
  ["a variable called undefined", "", "a: Int32Array, n: number, undefined: number", "a[i] = undefined;", []],
  [
    "a constant called Number",
    "const Number = { EPSILON: 3 };",
    "a: Int32Array, n: number",
    "a[i] = Number.EPSILON;",
    ["BELAY511"],
  ],
  ["a class called Int32Array", "class Int32Array {}", "a: any, n: number", "a[i] = 3;", ["BELAY512"]],
  [
    "a reduction with a Math of its own",
    "const Math = { min: (x: number, y: number) => x + y };",
    "a: Int32Array, n: number",
    "s = Math.min(s, a[i]!);",
    ["BELAY517"],
  ],
])("is right with %s", async (_, declared, parameters, body, expected) => {
  const clauses = body.startsWith("s =") ? "reduction(min:s)" : "";
  const source = `${declared}\n${loop("let s = 0;", clauses, body, parameters)}`;
  const { codes } = await both(source, () => [integers(), 60, 4]);
  expect(codes).toEqual(expect.arrayContaining(expected as string[]));
});
