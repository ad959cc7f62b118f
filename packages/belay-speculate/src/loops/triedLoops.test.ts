import { describe, expect, it } from "vitest";
import { evaluate, evaluateTranslated } from "../../../../test/support/loops/loopPrograms.ts";
import { translate } from "./translate.ts";

/** Returns the lines of loops, translated and not, and those of diagnostics with their codes. */
function triedIn(source: string) {
  const { loops, refused, diagnostics } = translate(source, "loops.ts");
  const lineOf = (start: number) => source.slice(0, start).split("\n").length;
  return {
    translated: loops.map(({ start }) => lineOf(start)),
    kept: refused.map(({ start }) => lineOf(start)),
    found: diagnostics.map(({ severity, code, span }) => `${lineOf(span.start)} ${severity} ${code}`),
  };
}

describe('"use speculate" alone', () => {
  it("tries every loop of the function, and says which it refuses", () => {
    const source = `export async function run(a: Int32Array, b: Int32Array, names: string[]) {
      "use speculate";
      for (let i = 0; i < a.length; i++) a[i] = (a[i]! + 1) | 0;
      for (const name of names) console.log(name);
      let at = 0;
      while (at < b.length) { b[at] = at; at++; }
    }
    for (let i = 0; i < 9; i++) console.log(i);`;
    expect(triedIn(source)).toEqual({
      translated: [3, 6],
      kept: [4],
      found: ["4 warning BELAY512"],
    });
  });

  it("tries the loops inside of a loop that it refuses", async () => {
    const source = `export async function run(a: Int32Array, log: number[]) {
      "use speculate";
      for (let step = 0; step < 3; step++) {
        for (let i = 0; i < a.length; i++) a[i] = (a[i]! * 3 + step) | 0;
        for (let i = 0; i < 2; i++) log.push(a[i]!);
      }
    }`;
    expect(triedIn(source)).toMatchObject({ translated: [4], kept: [3, 5] });
    const { exports, calls } = evaluateTranslated(source);
    const results = await Promise.all(
      [exports, evaluate(source)].map(async ({ run }) => {
        const [a, log]: [Int32Array, number[]] = [Int32Array.of(1, 2, 3), []];
        await run!(...([a, log] as never[]));
        return { a, log };
      }),
    );
    expect(results[0]).toEqual(results[1]);
    expect(calls).toHaveLength(3);
  });

  it("translates the outermost loop that it can, with its inner loops", () => {
    const source = `export async function run(a: Int32Array, n: number) {
      "use speculate";
      for (let y = 0; y < n; y++)
        for (let x = 0; x < n; x++) a[y * n + x] = x;
    }`;
    expect(triedIn(source)).toEqual({ translated: [3], kept: [], found: [] });
  });

  it("leaves the other loops alone if one has a directive", () => {
    const source = `export async function run(a: Int32Array) {
      "use speculate";
      for (let i = 0; i < a.length; i++) a[i] = i;
      //#pragma omp for target(webgpu)
      for (let i = 0; i < a.length; i++) a[i] = (a[i]! + 1) | 0;
    }`;
    expect(triedIn(source)).toEqual({ translated: [5], kept: [], found: [] });
  });

  it("leaves a function that is not async to its callers, and says why", () => {
    const source = `export function run(a: Int32Array) {
      "use speculate";
      for (let i = 0; i < a.length; i++) a[i] = i;
      return a[1];
    }`;
    expect(triedIn(source).found).toEqual(["3 warning BELAY519"]);
    const { exports, calls } = evaluateTranslated(source);
    expect(exports.run!(...([new Int32Array(3)] as never[]))).toBe(1);
    expect(calls).toEqual([]);
  });

  it("tries the loops of a file, apart from functions with a directive of their own", () => {
    const source = `"use speculate";
    export async function one(a: Int32Array) { for (let i = 0; i < a.length; i++) a[i] = i; }
    export const two = async (a: Int32Array) => { for (const x of a) console.log(x); };`;
    expect(triedIn(source)).toMatchObject({ translated: [2], found: ["3 warning BELAY513"] });
  });

  it("reports a function without a loop", () => {
    const source = `export async function run() { "use speculate"; }`;
    expect(triedIn(source).found).toEqual(["1 error BELAY504"]);
  });
});
