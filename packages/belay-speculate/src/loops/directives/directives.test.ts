import type { Diagnostic } from "belay-gpu/internal/diagnostics/diagnostic";
import { describe, expect, it } from "vitest";
import { translate } from "../translate.ts";

const file = (directive: string, body = "a[i] = a[i - 1]!;") => `
import { accesses, misspeculate, reduction, schedule, speculate } from "belay-speculate";
export async function f(a: Int32Array, n: number) {
  "use speculate";
  let s = 0;
  ${directive}
  for (let i = 1; i < n; i++) { ${body} }
  return s;
}
`;

const errorsOf = ({ diagnostics }: { readonly diagnostics: readonly Diagnostic[] }) =>
  diagnostics.filter(({ severity }) => severity === "error");

/** The part of the source that a diagnostic points at, and what it says. */
function findings(source: string): [string, string][] {
  return errorsOf(translate(source, "f.ts")).map(({ span, message }) => [
    source.slice(span.start, span.end),
    message,
  ]);
}

describe("directives of loops", () => {
  const plain = { iterationsPerRound: null };

  it.each([
    ["//#pragma omp for target(webgpu) speculate(a)", plain],
    ["// #pragma  omp  for speculate( a )  target( webgpu )", plain],
    ["/*#pragma omp for target(webgpu) speculate(a) schedule(4096)*/", { iterationsPerRound: 4096 }],
    ["//#pragma omp for target(webgpu) speculate(a)\n  // why it is safe\n", plain],
    ["//#pragma omp for target(webgpu)\n  outer:", plain],
    ["speculate(a); schedule(4096); accesses(2);", { iterationsPerRound: 4096 }],
  ])("%s", (directive, schedule) => {
    const result = translate(file(directive), "f.ts");
    expect(errorsOf(result)).toEqual([]);
    expect(result.loops).toMatchObject([{ loop: { schedule, arrays: [{ name: "a", role: "tracked" }] } }]);
  });

  it.each([
    ["//#pragma omp for target(webgpu) reduction(+:s)", "s += a[i]! & 1;", "+"],
    ["//#pragma omp for target(webgpu) reduction(max:s)", "s = Math.max(a[i]!, s);", "max"],
    ['speculate(); reduction("^", s);', "s ^= a[i]!;", "^"],
  ])("%s", (directive, body, operator) => {
    const result = translate(file(directive, body), "f.ts");
    expect(errorsOf(result)).toEqual([]);
    expect(result.loops).toMatchObject([{ loop: { reductions: [{ name: "s", type: "i32", operator }] } }]);
  });

  it.each([
    ["accesses(8)", 8],
    ["", null],
  ])("bounds what cannot be counted by %j", (clause, most) => {
    const body = "for (let j = a[i - 1]!; j > 0; j = a[j & 7]! >> 1) a[j & 7] = i;";
    const { loops } = translate(
      file(`//#pragma omp for target(webgpu) speculate(a) ${clause}`, body),
      "f.ts",
    );
    expect(loops).toMatchObject([{ loop: { mostLoads: most, mostStores: most } }]);
  });

  it.each([
    ["#pragma omp fro target(webgpu)", "fro", "expected `for` or `branch` in this directive, found `fro`"],
    ["#pragma opm for", "opm", "expected `omp` in this directive, found `opm`"],
    ["#pragma omp for speculate(a)", undefined, "expected `target(webgpu)` in this directive, found its end"],
    [
      "#pragma omp for target(cuda) speculate(a)",
      "cuda",
      "expected `webgpu` in this directive, found `cuda`",
    ],
    [
      "#pragma omp for target(webgpu) specualte(a)",
      "specualte",
      "expected `target`, `speculate`, `reduction`, `accesses`, `schedule`, `configure`, `precision` in this directive, found `specualte`",
    ],
    [
      "#pragma omp for target(webgpu) speculate(a",
      undefined,
      "expected `)` in this directive, found its end",
    ],
    [
      "#pragma omp for target(webgpu) speculate(a,)",
      ")",
      "expected the name of an array in this directive, found `)`",
    ],
    [
      "#pragma omp for target(webgpu) speculate(a) speculate(a)",
      "speculate",
      "the clause `speculate` is given twice",
    ],
    [
      "#pragma omp for target(webgpu) reduction(-:s)",
      "-",
      "expected `+`, `*`, `min`, `max`, `&`, `|`, `^` in this directive, found `-`",
    ],
    ["#pragma omp for target(webgpu) reduction(+ s)", "s", "expected `:` in this directive, found `s`"],
    [
      "#pragma omp for target(webgpu) schedule(0)",
      "0",
      "expected a positive integer in this directive, found `0`",
    ],
    ["#pragma omp for target(webgpu) precision(f16)", "f16", "expected `f32` in this directive, found `f16`"],
    [
      "#pragma omp for target(webgpu) accesses(many)",
      "many",
      "expected a positive integer in this directive, found `many`",
    ],
  ])("%s is malformed", (directive, place, message) => {
    const [found] = findings(file(`//${directive}`));
    if (place !== undefined) expect(found![0]).toBe(place);
    expect(found![1]).toBe(message);
  });

  it.each([
    ["speculate(3);", "3", "expected the name of an array"],
    ['reduction("-", s);', '"-"', "expected one of `+`"],
    ["schedule(n);", "n", "expected a positive integer"],
    ["speculate(a); speculate(a);", "speculate(a)", "the clause `speculate` is given twice"],
  ])("%s is malformed", (directive, place, message) => {
    const [found] = findings(file(directive));
    expect(found![0]).toBe(place);
    expect(found![1]).toContain(message);
  });
});

describe("directives of branches", () => {
  const inBranch = (directive: string) =>
    file("//#pragma omp for target(webgpu) speculate(a)", `if (a[i] === 0) {\n${directive}\na[i] = 1; }`);
  const index = { kind: "index" };

  it.each([
    ["+1", { kind: "relative", offsets: [1] }],
    ["-1", { kind: "relative", offsets: [-1] }],
    ["-1, +1", { kind: "relative", offsets: [-1, 1] }],
    ["+0:+4", { kind: "range", from: 0, to: 4 }],
    ["+0:", { kind: "range", from: 0, to: null }],
    ["i", { kind: "absolute", index }],
    [
      "i + 3",
      { kind: "absolute", index: { kind: "binary", operator: "+", left: index, right: { value: 3 } } },
    ],
  ])("(%s)", (which, expected) => {
    const text = /^[-+]/.test(which) ? `"${which}"` : which;
    for (const directive of [`//#pragma omp branch misspeculate(${which})`, `misspeculate(${text});`]) {
      const result = translate(inBranch(directive), "f.ts");
      expect(errorsOf(result)).toEqual([]);
      const branch = result.loops[0]!.loop.body[0]!;
      expect(branch).toMatchObject({
        kind: "if",
        yes: [{ kind: "misspeculate", which: expected }, { kind: "store" }],
      });
    }
  });

  it.each([
    ["10,20", [{ kind: "absolute" }, { kind: "absolute", index: { value: 20 } }]],
    ["5:10", [{ kind: "between", from: { index: { value: 5 } }, to: { index: { value: 10 } } }]],
    ["+0:20", [{ kind: "between", from: { kind: "relative", offset: 0 }, to: { kind: "absolute" } }]],
    ["n:", [{ kind: "between", from: { kind: "absolute" }, to: null }]],
    [
      "-1,+1:+3",
      [
        { kind: "relative", offsets: [-1] },
        { kind: "range", from: 1, to: 3 },
      ],
    ],
    ["i > 3 ? i : n, Math.min(i, 4):+2", [{ kind: "absolute" }, { kind: "between", to: { offset: 2 } }]],
  ])("(%s) is a list", (which, expected) => {
    for (const directive of [`//#pragma omp branch misspeculate(${which})`, `misspeculate("${which}");`]) {
      const result = translate(inBranch(directive), "f.ts");
      expect(errorsOf(result)).toEqual([]);
      expect(result.loops[0]!.loop.body[0]).toMatchObject({
        yes: [...expected.map((which) => ({ kind: "misspeculate", which })), { kind: "store" }],
      });
    }
  });

  it("take several arguments", () => {
    const result = translate(inBranch('misspeculate(10, "+1:+2", n);'), "f.ts");
    expect(errorsOf(result)).toEqual([]);
    expect(result.loops[0]!.loop.body[0]).toMatchObject({
      yes: [
        { which: { kind: "absolute" } },
        { which: { kind: "range" } },
        { which: { kind: "absolute" } },
        { kind: "store" },
      ],
    });
  });

  it("belongs to the branch it stands in, also without a block", () => {
    const source = file(
      "//#pragma omp for target(webgpu) speculate(a)",
      "if (a[i] === 0)\n//#pragma omp branch misspeculate(+1)\na[i] = 1; else a[i] = 2;",
    );
    expect(translate(source, "f.ts").loops[0]!.loop.body).toMatchObject([
      { kind: "if", yes: [{ kind: "misspeculate" }, { kind: "store" }], no: [{ kind: "store" }] },
    ]);
  });

  it.each([
    ["misspeculate(+4:+1)", "expected an end that is not before the start of the range"],
    ["misspeculate(+1,)", "offsets such as `+1`, `+0:+4`, `-1,+1` in this directive, found nothing"],
    ["misspeculate(1:2:3)", "expected `,` in this directive, found `:`"],
    ["misspeculate(:3)", "expected an index such as `i + 3`"],
    ["misspeculate()", "expected an index such as `i + 3`"],
    ["misspeculate(+1", "expected `)`"],
    ["misspeculate(+9999999999)", "expected an offset of at most 31 bits"],
    ["mispeculate(+1)", "expected `misspeculate`"],
  ])("%s is malformed", (directive, message) => {
    expect(findings(inBranch(`//#pragma omp branch ${directive}`))[0]![1]).toContain(message);
  });
});

describe("directives that are not where they belong", () => {
  const loop = "//#pragma omp for target(webgpu) speculate(a)";
  const branch = "//#pragma omp branch misspeculate(+1)";

  it.each([
    ["before something else", file(`${loop}\n s = 1;`), "BELAY503", loop],
    [
      "in a loop that is speculated",
      file(loop, `${loop}\nfor (let j = 0; j < 3; j++) a[j] = i;`),
      "BELAY503",
      loop,
    ],
    ["outside a branch", file(loop, `a[i] = a[i - 1]!;\n${branch}\n`), "BELAY503", branch],
    ["outside a loop", file(`if (n > 3) {\n${branch}\n}\n${loop}`), "BELAY503", branch],
    [
      "as a call before something else",
      file(`${loop}\n`).replace("return s;", "speculate(a);"),
      "BELAY503",
      "speculate(a);",
    ],
    [
      "in a function that does not ask for them",
      file(loop).replace('"use speculate";', ""),
      "BELAY505",
      loop,
    ],
    ["nowhere", `async function f() { "use speculate"; }`, "BELAY504", '"use speculate";'],
    ["with names of nothing", file("//#pragma omp for target(webgpu) speculate(b)"), "BELAY506", "b"],
    ["with reductions of nothing", file("//#pragma omp for target(webgpu) reduction(+:s)"), "BELAY506", "s"],
  ])("%s", (_, source, code, place) => {
    const errors = errorsOf(translate(source, "f.ts"));
    expect(errors.map((one) => one.code)).toEqual([code]);
    expect(source.slice(errors[0]!.span.start, errors[0]!.span.end)).toBe(place);
  });

  it("may also ask for speculation once for the whole file", () => {
    const source = `"use speculate";\nconst a = new Int32Array(9);\n${loop}\nfor (let i = 1; i < a.length; i++) a[i] = a[i - 1]!;`;
    expect(translate(source, "f.ts")).toMatchObject({
      loops: [{ loop: { name: "loop" }, mayAwait: true }],
      diagnostics: [],
    });
  });

  it("calls of other functions of the same names are no directives", () => {
    const source = file(loop, "a[i] = speculate(i);").replace(
      /import.*/,
      "const speculate = (x: number) => x;",
    );
    expect(errorsOf(translate(source, "f.ts"))).toEqual([]);
  });
});
