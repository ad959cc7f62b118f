/** No input makes the translation throw or hang, and each result is valid JavaScript. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryLoop } from "../../../../research/src/scripts/randomLoops/arbitraryLoops.ts";
import { callCounter } from "../../../../test/support/devices/countCalls.ts";
import { sequentialLoop } from "./javascript/sequential.ts";
import { translate } from "./translate.ts";

const folder = resolve(import.meta.dirname, "../../../../research/src/workloads/loops");
const programs = readdirSync(folder)
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .filter((source) => source.includes("use speculate"));

const callsOf = callCounter();
/**
 * The most calls for each character of a source, twice those of the costliest source here. Work
 * without calls, such as a text search, is not counted. If it were quadratic, the tests on long
 * sources would not end.
 */
const mostCalls = 300;

/** Translates a source, and compiles the CPU version of each translated loop. */
function check(source: string, filename = "f.ts"): void {
  const { loops, diagnostics } = translate(source, filename);
  for (const { loop } of loops) sequentialLoop(loop);
  for (const { span, message } of diagnostics) {
    expect(span.start).toBeGreaterThanOrEqual(0);
    expect(span.end).toBeLessThanOrEqual(source.length + 1);
    expect(message).not.toMatch(/^[A-Z]|\.$/);
  }
}

const word = /[\w$]+|\s+|./gs;
/** The words that tend to change a program's meaning. */
const words = [
  "i",
  "a",
  "n",
  "0",
  "1e999",
  "-1",
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
  "++",
  "=",
  "+=",
  "/",
  "%",
  "?",
  ":",
  ";",
  "let",
  "const",
  "var",
  "for",
  "while",
  "break",
  "continue",
  "return",
  "function",
  "=>",
  "...",
  "await",
  "null",
  "//#pragma omp for target(webgpu) speculate(a)\n",
  "//#pragma omp branch misspeculate(+1)\n",
];

describe("translate", () => {
  it("survives programs with words changed, and takes bounded work", async () => {
    const change = fc.record({
      at: fc.nat(),
      kind: fc.constantFrom("remove", "insert", "replace", "repeat", "swap"),
      word: fc.constantFrom(...words),
    });
    const program = fc.oneof(fc.constantFrom(...programs), arbitraryLoop);
    const runs = Number(process.env.MUTANTS ?? 200);
    let characters = 0;
    const calls = await callsOf(() =>
      fc.assert(
        fc.property(program, fc.array(change, { minLength: 1, maxLength: 4 }), (source, changes) => {
          const text = source.match(word)!;
          for (const { at, kind, word } of changes) {
            const place = at % text.length;
            if (kind === "remove") text.splice(place, 1);
            else if (kind === "insert") text.splice(place, 0, word);
            else if (kind === "replace") text[place] = word;
            else if (kind === "repeat") text.splice(place, 0, ...text.slice(place, place + 12));
            else text.push(...text.splice(place, 1));
          }
          const changed = text.join("");
          characters += changed.length;
          check(changed);
        }),
        { numRuns: runs },
      ),
    );
    expect(calls / characters).toBeLessThan(mostCalls);
  });

  it("survives parts of programs, in other languages too", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...programs),
        fc.nat(),
        fc.constantFrom("f.js", "f.tsx", "f.cjs", "f.d.ts", "f"),
        (source, at, filename) => {
          check(source.slice(0, at % source.length), filename);
        },
      ),
      { numRuns: 100 },
    );
  });

  const inLoop = (body: string) =>
    `export async function f(a: Int32Array, x: number) {\n"use speculate";\n//#pragma omp for target(webgpu) speculate(a)\nfor (let i = 0; i < 9; i++) { ${body} }\n}`;
  const deep = 100_000;

  it.each([
    ["parentheses", inLoop(`a[i] = ${"(".repeat(deep)}1${")".repeat(deep)};`)],
    ["operators", inLoop(`a[i] = 1${" + 1".repeat(deep)};`)],
    ["prefixes", inLoop(`a[i] = ${"- ".repeat(deep)}1;`)],
    ["choices", inLoop(`a[i] = ${"x ? 1 : ".repeat(deep)}1;`)],
    ["branches", inLoop(`${"if (x > 1) ".repeat(deep)};`)],
    ["alternatives", inLoop(`${"if (x > 1) a[0] = 1; else ".repeat(deep)};`)],
    ["blocks", inLoop(`${"{".repeat(deep)}${"}".repeat(deep)}`)],
    ["indices", inLoop(`a[i] = ${"a[".repeat(deep)}0${"]".repeat(deep)};`)],
    ["types", inLoop(`a[i] = 1${" as any".repeat(deep)};`)],
    ["functions", inLoop(`${"() => ".repeat(deep)}1;`)],
  ])("refuses %s without end", (_, source) => {
    expect(translate(source, "f.ts")).toMatchObject({ loops: [], diagnostics: [{ code: "BELAY501" }] });
  });

  it.each([
    ["operators", inLoop(`a[i] = 1${" + x".repeat(1500)};`)],
    ["choices", inLoop(`a[i] = ${"x > 1 ? 1 : ".repeat(300)}1;`)],
    ["indices", inLoop(`a[i] = ${"a[".repeat(300)}0${"]".repeat(300)};`)],
    ["loops", inLoop(`${"while (x > a[0]!) ".repeat(200)}a[i] = 1;`)],
    ["statements", inLoop("a[i & 7]! += x;\n".repeat(3000))],
    [
      "assignments",
      inLoop(
        `let x0 = 0; ${Array.from({ length: 60 }, (_, at) => `let x${at + 1} = x${at} + 1; x${at} = x${at + 1} * 2;`).join("\n")}`,
      ),
    ],
    [
      "branches",
      inLoop(
        `let y = 0; ${Array.from({ length: 60 }, (_, at) => `if (a[${at}]! > y) y = y * 2 + ${at};`).join("\n")} a[i] = y;`,
      ),
    ],
    ["blanks", `${" ".repeat(2_000_000)}${inLoop("a[i] = 1;")}`],
    ["directives in a branch", inLoop("//#pragma omp branch misspeculate(i + 3)\n".repeat(8000))],
    ["directives", "//#pragma omp for target(webgpu) speculate(a)\n".repeat(2000)],
    [
      "comments",
      `/**${" * @param {Int32Array} a\n".repeat(200_000)}*/ async function f(a) { "use speculate"; }`,
    ],
  ])("takes bounded work for many %s", async (_, source) => {
    expect((await callsOf(() => check(source))) / source.length).toBeLessThan(mostCalls);
  });
});
