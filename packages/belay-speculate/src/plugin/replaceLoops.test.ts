import { SourceMap } from "node:module";
import { describe, expect, it } from "vitest";
import { evaluate } from "../../../../test/support/loops/loopPrograms.ts";
import { replaceLoops } from "./replaceLoops.ts";

const relax = `export async function relax(a: Int32Array, p: Uint32Array, n: number) {
  "use speculate";
  let last = 0;
  //#pragma omp for target(webgpu) speculate(a)
  outer: for (let i = 0; i < n; i++) {
    a[p[i]!] = a[i]! + 1;
    last = i;
  }
  return last;
}
`;

describe("replaceLoops", () => {
  it("puts a call of the engine before the loop, which stays for what the call does not cover", () => {
    const { code, diagnostics } = replaceLoops(relax, "relax.ts");
    expect(diagnostics).toEqual([]);
    expect(
      code!.split("\n").slice(-11).join("\n"),
    ).toBe(`export async function relax(a: Int32Array, p: Uint32Array, n: number) {
  "use speculate";
  let last = 0;
  //#pragma omp for target(webgpu) speculate(a)
  { if (typeof n === "number" && typeof last === "number" && a instanceof Int32Array && p instanceof Uint32Array && Number.isSafeInteger(n) && n <= 2147483648) { const $belay_result = await $belay_speculate({ loop: $belay_loop0, sequential: $belay_sequential0, arrays: { a, p }, inputs: {}, carried: {}, reductions: { last }, first: 0, step: 1, count: Math.max(0, n) }); last = $belay_result.reductions.last; } else { const $belay_turn = $belay_takeTurn({ changed: [a], read: [p], variables: [] }); try { await $belay_turn.toHost(); outer: for (let i = 0; i < n; i++) {
    a[p[i]!] = a[i]! + 1;
    last = i;
  } } finally { $belay_turn.end(); } } }
  return last;
}
`);
  });

  it("hands over a double in words, although no statement of the loop needs it", () => {
    const root = "Math.sqrt(Math.min(Math.fround(Math.fround(-1.5) - f[i]!), Math.fround(x)))";
    const source = relax
      .replace("a: Int32Array", "f: Float32Array, x: number, a: Int32Array")
      .replace("last = i;", `let unused = f[i]!; unused = Math.fround(${root});`);
    const { code } = replaceLoops(source, "relax.ts");
    expect(code).toContain('"inputs":[{"name":"$input0","type":"f64"}]');
    expect(code).toContain("doubles: $belay_callOfWords");
  });

  it.each([
    ["//#pragma omp for target(webgpu) speculate(a) configure(options)", "options"],
    ["speculate(a); configure(options);", "options"],
  ])("hands the engine the options that %s names", (directive) => {
    const source = relax
      .replace("n: number", "n: number, options: object")
      .replace("//#pragma omp for target(webgpu) speculate(a)", directive);
    const { code, diagnostics } = replaceLoops(
      `import { configure, speculate } from "belay-speculate";\n${source}`,
      "relax.ts",
    );
    expect(diagnostics).toEqual([]);
    expect(code).toContain("count: Math.max(0, n) }, options);");
  });

  it("refuses options that are no variable", () => {
    const unknown = relax.replace("speculate(a)", "speculate(a) configure(options)");
    expect(replaceLoops(unknown, "relax.ts").diagnostics.map(({ message }) => message)).toContain(
      "`options` is not a variable in the scope of this loop",
    );
    const malformed = relax.replace("speculate(a)", "speculate(a) configure(3)");
    expect(replaceLoops(malformed, "relax.ts").diagnostics).toMatchObject([{ code: "BELAY502" }]);
  });

  it("leaves the loop to the program where a guard fails", async () => {
    const { code } = replaceLoops(relax, "relax.ts");
    let calls = 0;
    const { relax: run } = evaluate(code!, async () => {
      calls++;
      return { reductions: { last: -1 } };
    });
    const call = (n: unknown, a: unknown = new Int32Array(4)) =>
      run!(...([a, new Uint32Array(4), n] as never[]));
    expect(await call(3)).toBe(-1);
    expect(calls).toBe(1);
    expect(await call(2.5)).toBe(2);
    expect(await call("3")).toBe(2);
    expect(await call(3, new Float64Array(4))).toBe(2);
    expect(calls).toBe(1);
  });

  it("keeps the places of everything else", () => {
    const { code, map } = replaceLoops(relax, "relax.ts");
    const payload = JSON.parse(map!.toString());
    const lines = code!.split("\n");
    for (const text of ["return last", "a[p[i]!]", "export async"]) {
      const line = lines.findIndex((one) => one.includes(text));
      const entry = new SourceMap(payload).findEntry(line, lines[line]!.indexOf(text));
      const original = relax.split("\n");
      const expected = original.findIndex((one) => one.includes(text));
      expect(entry).toMatchObject({
        originalLine: expected,
        originalColumn: original[expected]!.indexOf(text),
      });
    }
  });

  it("imports the engine as the kind of module can", () => {
    const first = (filename: string) => replaceLoops(relax, filename).code!.split("\n")[0];
    expect(first("m.ts")).toBe(
      'import { speculate as $belay_speculate, takeTurn as $belay_takeTurn } from "belay-speculate/internal/translated";',
    );
    expect(first("m.cts")).toMatch(/^const \$belay_loop0/);
    expect(replaceLoops(relax, "m.cts").code).toContain(
      'await (await import("belay-speculate/internal/translated")).speculate({',
    );
  });

  it("uses no name of the program, and leaves the first line of a script", () => {
    const { code } = replaceLoops(`#!/usr/bin/env node\nconst $belay_loop0 = 1;\n${relax}`, "m.ts");
    const lines = code!.split("\n");
    expect(lines[0]).toBe("#!/usr/bin/env node");
    expect(lines[1]).toBe(
      'import { speculate as $$belay_speculate, takeTurn as $$belay_takeTurn } from "belay-speculate/internal/translated";',
    );
    expect(code).toContain("const $$belay_loop0 = {");
  });

  it("leaves a loop that is refused to the program, after the host has its arrays", () => {
    const refused = replaceLoops(relax.replace("last = i;", "last = i; console.log(i);"), "m.ts");
    expect(refused.diagnostics.map(({ code }) => code)).toContain("BELAY513");
    expect(refused.code).toContain(
      "{ const $belay_turn = $belay_takeTurn(); try { await $belay_turn.toHost(); outer: for (let i = 0; i < n; i++) {",
    );
  });

  it("lets a loop that cannot wait for its arrays ask for them", () => {
    const { code, diagnostics } = replaceLoops(relax.replace("async ", ""), "m.ts");
    expect(diagnostics.map(({ code }) => code)).toContain("BELAY519");
    expect(code).toContain("{ $belay_requireOnHost({ n, a, p, last }); outer: for (let i = 0; i < n; i++) {");
  });

  it("has the host get the arrays of a loop whose directive is wrong", () => {
    for (const wrong of [
      "target(webgpu) speculate(a",
      "target(webgpu) nonsense(a)",
      "target(webgpu) speculate(a) speculate(a) schedule(0)",
    ]) {
      const { code, diagnostics } = replaceLoops(relax.replace("target(webgpu) speculate(a)", wrong), "m.ts");
      expect(diagnostics.map(({ code }) => code)).toContain("BELAY502");
      expect(code).toContain("try { await $belay_turn.toHost(); outer: for (let i = 0; i < n; i++) {");
    }
    const calls = `import { schedule } from "belay-speculate";
export function f(a: Int32Array) {
  "use speculate";
  schedule("x");
  for (let i = 0; i < 4; i++) a[i] = i;
}`;
    expect(replaceLoops(calls, "m.ts").code).toContain("{ $belay_requireOnHost({ a }); for (let i");
  });

  it("has a loop with a wrong directive wait only before the loops in it", () => {
    const { code } = replaceLoops(
      `export async function f(a: Int32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) nonsense(a)
  for (let k = 0; k < 3; k++) {
    //#pragma omp for target(webgpu) speculate(a)
    for (let i = 0; i < 4; i++) a[i] = i;
  }
}`,
      "m.ts",
    );
    expect(code).toContain("await $belay_turn.toHost();} finally { $belay_turn.end(); }  for (let k");
    expect(code).toContain("await $belay_speculate({");
  });

  it("checks the arrays of a CommonJS loop that cannot wait", () => {
    const check =
      '{ require("belay-speculate/internal/translated").requireOnHost({ n, a, p, last }); outer: for (let i';
    expect(replaceLoops(relax.replace("async ", ""), "m.cts").code).toContain(check);
    const top = `"use speculate";
const a = new Int32Array(4);
//#pragma omp for target(webgpu) speculate(a)
for (let i = 0; i < 4; i++) a[i] = i;
`;
    const { code, diagnostics } = replaceLoops(top, "m.cjs");
    expect(diagnostics.map(({ code }) => code)).toContain("BELAY519");
    expect(code).toContain(
      '{ require("belay-speculate/internal/translated").requireOnHost({ a }); for (let i',
    );
    expect(code).not.toContain("await");
    expect(replaceLoops(top, "m.mjs").code).toContain("await $belay_speculate({");
  });

  it("has calls take turns that share a variable", () => {
    const { code } = replaceLoops(
      `let total = 0;
export async function add(a: Int32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) reduction(+:total)
  for (let i = 0; i < a.length; i++) total += a[i]! & 7;
}`,
      "m.ts",
    );
    expect(code).toContain("const $belay_shared0 = {};");
    expect(code).toContain(
      "{ const $belay_turn = $belay_takeTurn({ changed: [], read: [a], variables: [$belay_shared0] }); try { if ($belay_turn.comes) await $belay_turn.comes; if (",
    );
  });
});
