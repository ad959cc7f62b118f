/**
 * Integers that are −0: every source of one and every observer that tells it from 0, against
 * JavaScript, on the CPU and on the GPU.
 */

import { speculate } from "belay-speculate/internal/engine/speculate";
import { sequentialLoop } from "belay-speculate/internal/loops/javascript/sequential";
import { translate } from "belay-speculate/internal/loops/translate";
import { describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, evaluateTranslated } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

const values = [0, 1, -1, 2, -3, 7, -8, 100];
const [as, bs] = [values.flatMap((a) => values.map(() => a)), values.flatMap(() => values)].map((all) =>
  Int8Array.from(all),
) as [Int8Array, Int8Array];

/** Statements that leave an integer in `z`, computed from the elements `a` and `b`. */
const makers: readonly string[] = [
  ...[
    "-a",
    "-(-a)",
    "-(a | 0)",
    "a * b",
    "a * -2",
    "a * 0",
    "-3 * a * b",
    "-0",
    "-0 + -a",
    "-0 - a",
    "-a - b",
    "-a + b",
    "-a + -b",
    "a % 7",
    "-a % 7",
    "a % -1",
    "(a * b) % 4",
    "a % ((b & 7) + 1)",
    "Math.trunc(a / 9)",
    "Math.trunc(-a / -9)",
    "Math.floor(a / -9)",
    "Math.ceil(a / 9)",
    "Math.ceil(a / ((b & 7) + 1))",
    "Math.floor(-a)",
    "Math.round(-a)",
    "Math.trunc(a * b)",
    "Math.abs(-a)",
    "Math.sign(-a)",
    "Math.min(-a, b)",
    "Math.min(a, -b, 3)",
    "Math.max(-a, -b)",
    "Math.max(-a, b)",
    "Math.max(a % 3, -1)",
    "+-a",
    "-a | 0",
    "-a >>> 28",
    "-a & 15",
    "Math.imul(a, b) & 15",
    "-a + 0",
    "-a - 0",
    "b > 0 ? -a : a",
    "b > 0 ? -u[i]! : a * b",
    "b && -a",
    "-a || -b",
    "(b & 1) * -a",
    "(0 - a) * (b & 3)",
    "n * a",
    "(n - n) * a",
    "negative(a)",
    "either(a, b)",
  ].map((maker) => `const z = ${maker};`),
  "let z = a; z = -z; if (b > 0) z = -z;",
  "let z = -a; z = (z * b) % 9;",
  "let z = 1; for (let k = 0; k < 3; k++) z = (k * z * a) % 5;",
  "let z; if (a > b) z = -a; else z = b;",
  "let y = -a; const z = y++;",
  "let y = 0; const z = (y = -a);",
  "let z = 0; switch (b) { case 1: z = -a; break; default: z = a; }",
  "let z = 0; for (let k = -(a & 1); k < 1; k++) { z = k; if (b > 0) break; }",
  "const c = -u[i]!; u[i] = 5; const z = c * b;",
];

/** Statements that can tell −0 from 0. */
const observers: readonly string[] = [
  "z",
  "1 / z",
  "z / 3",
  "z / -3",
  "z * 0.5",
  "z % 5",
  "-z",
  "Math.fround(z)",
  "Math.sign(z)",
  "Math.sqrt(z)",
  "Math.min(z, 0.5)",
  "Math.atan2(z, -1)",
  "z + x[i]!",
  "z - 0.5 * x[i]!",
  "z < 0 ? 1 : z",
  "z ** 3",
  "z ? 1 : z",
];

/** Returns a loop for one maker, which stores the result of each observer. */
const program = (maker: string) => `
function negative(x: number) { return -x; }
function either(x: number, y: number) { if (y > 0) return -x; return x * y; }
export async function run(as: Int8Array, bs: Int8Array, u: Int8Array, x: Float32Array, out: Float32Array, n: number) {
  "use speculate";
  //#pragma omp for target(webgpu) precision(f32) speculate(out${/\bu\[/.test(maker) ? ", u" : ""})
  for (let i = 0; i < as.length; i++) {
    const a = as[i]!, b = bs[i]!;
    ${maker}
    ${observers.map((observer, k) => `out[i * ${observers.length} + ${k}] = ${observer};`).join("\n    ")}
  }
}`;

const size = as.length * observers.length;
const given = () => ({ as, bs, u: as.slice(), x: new Float32Array(as.length).fill(-0) });

/**
 * Describes the places where `out` differs from `expected`. Numbers that a GPU may round
 * differently may differ in their last bits.
 */
function differences(path: string, out: Float32Array, expected: Float32Array): string[] {
  const same = (one: number, other: number) =>
    Object.is(one, other) ||
    (path === "gpu" && other !== 0 && Math.abs(one - other) <= 1e-4 * Math.abs(other) + 1e-6);
  return [...expected].flatMap((value, at) => {
    const [i, k] = [Math.floor(at / observers.length), at % observers.length];
    if (same(out[at]!, value)) return [];
    return [`${path}: ${observers[k]} of a = ${as[i]}, b = ${bs[i]} is ${out[at]}, not ${value}`];
  });
}

describe("integers that may be -0", () => {
  it.each(makers)("%s", async (maker) => {
    const source = program(maker);
    const { loops, diagnostics } = translate(source, "zeros.ts");
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const { loop } = loops[0]!;
    const sequential = sequentialLoop(loop);
    const device = await devices.sharedDevice();
    for (const n of [0, -2]) {
      const [javaScript, cpu, gpu] = [0, 0, 0].map(() => new Float32Array(size)) as [
        Float32Array,
        Float32Array,
        Float32Array,
      ];
      const { u, x } = given();
      await evaluate(source).run!(...([as, bs, u, x, javaScript, n] as never[]));
      const inputs = Object.fromEntries(loop.inputs.map(({ name }) => [name, name === "n" ? n : 0]));
      sequential({ ...given(), out: cpu }, { ...inputs, $first: 0, $step: 1 }, {}, {}, 0, as.length);
      const { statistics } = await speculate(
        {
          loop,
          sequential,
          arrays: { ...given(), out: gpu },
          inputs,
          carried: {},
          reductions: {},
          first: 0,
          step: 1,
          count: as.length,
        },
        { device, fallback: "never" },
      );
      expect(statistics.onCpu).toBe(0);
      expect([...differences("cpu", cpu, javaScript), ...differences("gpu", gpu, javaScript)]).toEqual([]);
    }
  });

  it("cost nothing if nothing can tell them from 0", () => {
    for (const maker of ["-a", "a * b", "a % 7", "Math.min(-a, b)", "b > 0 ? -a : b"]) {
      const source = `export async function run(a: Int8Array, b: Int8Array, p: Int32Array) {
        "use speculate";
        //#pragma omp for target(webgpu) speculate(a)
        for (let i = 0; i < p.length; i++) {
          const z = ${maker.replace(/\b[ab]\b/g, (name) => `${name}[i]!`)};
          if (z > 3) a[p[i]!] = z; else a[i] = (z + 1) | 0;
        }
      }`;
      const { loops } = translate(source, "zeros.ts");
      expect(JSON.stringify(loops[0]!.loop.body)).not.toContain("zero");
    }
  });

  it("from outside make the loop run as written if it can tell them from 0", async () => {
    const source = `export async function run(x: Float32Array, n: number) {
      "use speculate";
      //#pragma omp for target(webgpu) speculate(x)
      for (let i = 0; i < 4; i++) x[i + n] = n * (i & 1);
    }`;
    const { exports, calls } = evaluateTranslated(source);
    for (const [n, called] of [
      [-0, 0],
      [3, 1],
    ] as const) {
      const [x, expected] = [new Float32Array(8), new Float32Array(8)];
      await exports.run!(...([x, n] as never[]));
      await evaluate(source).run!(...([expected, n] as never[]));
      expect([...x]).toEqual([...expected]);
      expect(calls).toHaveLength(called);
    }
  });
});

describe("variables that iterations share", () => {
  const loop = (body: string, clauses = "") => `export async function run(a: Int32Array, n: number) {
    "use speculate";
    let s = 0;
    //#pragma omp for target(webgpu) ${clauses}
    for (let i = 0; i < a.length; i++) { ${body} }
    return s;
  }`;

  it.each(["s = (a[i]! >> 3) * -2;", "s = -s % 9;", "s = -0;", "s = a[i]! % 3;", "s = s * -1; a[i] = s;"])(
    "are doubles if they may be -0 from one iteration to the next: %s",
    async (body) => {
      const source = loop(body);
      const { exports, calls, diagnostics } = evaluateTranslated(source);
      expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      for (const elements of [[], [0], [3, 0, 0], [-3, -1, 5, -8]]) {
        const [result, expected] = await Promise.all(
          [exports, evaluate(source)].map(({ run }) => run!(...([Int32Array.from(elements), 0] as never[]))),
        );
        expect(result).toBe(expected);
      }
      expect(calls.map(({ loop }) => loop.carried.map(({ type }) => type))).toEqual(Array(4).fill(["f64"]));
    },
  );

  it.each([
    ["s = Math.min(s, -(a[i]! >> 1));", "s = Math.min(s, -(a[i]! >> 1))", "reduction(min:s)"],
    ["s = Math.max(s, (a[i]! >> 1) * -1);", "s = Math.max(s, (a[i]! >> 1) * -1)", "reduction(max:s)"],
  ])("are not reduced if they may be -0, and run as written: %s", async (body, place, clauses) => {
    const source = loop(body, clauses);
    const { diagnostics } = translate(source, "zeros.ts");
    const found = diagnostics.filter(({ severity }) => severity === "error");
    expect(found.map(({ code, span }) => [code, source.slice(span.start, span.end)])).toEqual([
      ["BELAY514", place],
    ]);
    expect(found[0]!.help).toMatch(/\| 0|Math\.imul/);
    const { exports, calls } = evaluateTranslated(source);
    for (const elements of [[], [0], [3, 0, 0], [-3, -1, 5, -8]]) {
      const [result, expected] = await Promise.all(
        [exports, evaluate(source)].map(({ run }) => run!(...([Int32Array.from(elements), 0] as never[]))),
      );
      expect(result).toBe(expected);
    }
    expect(calls).toEqual([]);
  });

  it.each([
    ["s = (a[i]! * -2) | 0;", ""],
    ["s = -a[i]! | 0;", ""],
    ["s = n - i;", ""],
    ["s -= -a[i]! & 7;", ""],
    ["s -= a[i]! & 7;", "reduction(+:s)"],
    ["s = Math.min(s, n);", "reduction(min:s)"],
    ["s = Math.min(s, -a[i]! | 0);", "reduction(min:s)"],
  ])("are translated if they cannot be -0: %s", async (body, clauses) => {
    const source = loop(body, clauses);
    const { exports, diagnostics } = evaluateTranslated(source);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const plain = evaluate(source);
    for (const n of [0, -0, 5]) {
      for (const a of [[0], [0, 0, 3], [1, 0]]) {
        const [result, expected] = await Promise.all(
          [exports, plain].map(({ run }) => run!(...([Int32Array.from(a), n] as never[]))),
        );
        expect(result).toBe(expected);
      }
    }
  });
});
