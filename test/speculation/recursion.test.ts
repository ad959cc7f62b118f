/**
 * Functions of loops that call themselves, against the functions as they are written. Calls that
 * nest deeper than the copies of a function make the loop run as it is written.
 */
import type { SpeculateCall } from "belay-speculate/internal/engine/call/call";
import { speculate } from "belay-speculate/internal/engine/speculate";
import { replaceLoops } from "belay-speculate/internal/plugin/replaceLoops";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { evaluate, executeInParts } from "../support/loops/loopPrograms.ts";

const devices = testDevices({ full: true });

/** Functions `f`, with the largest argument for which the copies suffice. */
const functions: readonly (readonly [name: string, source: string, most: number])[] = [
  ["two calls", "function f(n: number): number { return n < 2 ? n : f(n - 1) + f(n - 2); }", 5],
  [
    "three calls",
    "function f(n: number): number { if (n < 1) return 1; const x = f(n - 1); return (x * 5 - f(n - 2) + f(n - 3)) | 0; }",
    3,
  ],
  ["loads", "const f = (n: number): number => (n < 1 ? 0 : list[n & 15]! + f(n - 1));", 15],
  [
    "variables after calls",
    "function f(n: number): number { let x = n * 3; if (n <= 0) return x; const y = f(n - 1); x += y; return (x ^ (n + y)) | 0; }",
    15,
  ],
  [
    "a call in a loop",
    `const walk = (i: number, d: number): number => {
       let s = i;
       for (let k = 0; k < 2; k++) if (d > 0) s = (s * 3 + walk(2 * i + k, d - 1)) | 0;
       return s;
     };
     const f = (n: number): number => walk(1, n);`,
    7,
  ],
  [
    "a truth",
    "function isOdd(n: number): boolean { return n < 1 ? false : !isOdd(n - 1); } const f = (n: number) => (isOdd(n) ? 1 : 0);",
    15,
  ],
  [
    "a call in an argument",
    `const ack = (m: number, n: number): number =>
       m === 0 ? n + 1 : n === 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
     const f = (n: number): number => ack(1, n);`,
    6,
  ],
  [
    "a call of the result",
    "function g(n: number): number { return n > 100 ? n - 10 : g(g(n + 11)); } const f = (n: number) => g(101 - n);",
    66,
  ],
  ["floats", "const f = (n: number): number => (n < 1 ? 0.5 : Math.fround(f(n - 1) * 1.25));", 11],
  [
    "stores",
    `function visit(n: number): void {
       if (n < 1) return;
       list[n & 15] = (list[n & 15]! + n) & 255;
       visit(n - 1);
       list[(n + 3) & 15] = n;
     }
     const f = (n: number) => { visit(n); return list[3]!; };`,
    15,
  ],
];

const sourceOf = (helper: string) => `
export async function run(a: Int32Array, out: Float32Array, list: Int32Array) {
  "use speculate";
  ${helper}
  //#pragma omp for target(webgpu)
  for (let i = 0; i < a.length; i++) { out[i] = f(a[i]!); }
}`;

function translated(source: string): string {
  const { code, diagnostics } = replaceLoops(source, "recursion.ts");
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return code!;
}

async function resultOf(exports: ReturnType<typeof evaluate>, numbers: readonly number[]) {
  const a = Int32Array.from(numbers);
  const out = new Float32Array(a.length);
  const list = Int32Array.from({ length: 16 }, (_, at) => (at * 37) & 63);
  await exports.run!(...([a, out, list] as never[]));
  return { out, list };
}

/** Returns 40 random numbers from 0 to `most`. */
function randomUpTo(most: number): number[] {
  let seed = most;
  return Array.from({ length: 40 }, () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * (most + 1));
  });
}

it.each(functions)("give what they give as they are written: %s", async (name, helper, most) => {
  const source = sourceOf(helper);
  const code = translated(source);
  const device = await devices.newDevice();
  let left = 0;
  /** Counts the calls of an engine that end because the loop has to run as it is written. */
  const counting = (engine: (call: SpeculateCall) => Promise<unknown>) =>
    evaluate(code, async (call) => {
      left++;
      const done = await engine(call);
      left--;
      return done;
    });
  // Kernels of many copies compile slowly, so that a GPU executes a few functions.
  const executions = ["loads", "a truth", "stores"].includes(name)
    ? [counting(executeInParts), counting((call) => speculate(call, { device, fallback: "never" }))]
    : [counting(executeInParts)];
  const below = randomUpTo(most - 1);
  for (const numbers of [below, [...below, most], [...below, most + 1], [most + 1, ...below]]) {
    const expected = await resultOf(evaluate(source), numbers);
    for (const one of executions) {
      left = 0;
      expect(await resultOf(one, numbers)).toEqual(expected);
      expect(left).toBe(numbers.includes(most + 1) ? 1 : 0);
    }
  }
});

it("would give something else if the deepest copy did not leave the loop", async () => {
  const [, helper, most] = functions[1]!;
  const source = sourceOf(helper);
  const broken = translated(source).replaceAll("a_$empty.leave()", "0");
  const numbers = [most + 1];
  const expected = await resultOf(evaluate(source), numbers);
  expect(await resultOf(evaluate(broken, executeInParts), numbers)).not.toEqual(expected);
});
