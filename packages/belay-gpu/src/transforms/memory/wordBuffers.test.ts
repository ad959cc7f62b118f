import { describe, expect, it } from "vitest";
import { checkedKernel, flat } from "../../../../../test/support/wgsl/checkedKernel.ts";
import { uniformity } from "../../analysis/uniformity.ts";
import { printDeclaration, printStatement } from "../../wgsl/printer.ts";
import { WordBuffers } from "./wordBuffers.ts";

const effects = "fn effect(n: u32) -> u32 { return n; }";

/** Returns the rewritten statements of a kernel, and the functions made for it. */
function rewritten(body: string, functions = effects, line = {}) {
  const { program, names, granules, runs, wordAccess, main, byKind } = checkedKernel(body, {
    functions,
    ...line,
  });
  const buffers = new WordBuffers(program, names, {
    access: wordAccess,
    lines: runs,
    findings: granules.findings,
    uniform: uniformity(program),
    hasEffects: ({ callee }) => callee.name === "effect" || callee.name === "workgroupBarrier",
    lasting: new Set(),
  });
  const [, ...statements] = buffers.function(main).body.statements;
  return {
    statements: statements.map((each) => byKind(flat(printStatement(each)))),
    made: [...buffers.made].map(({ of, fn }) => [of.name, byKind(flat(printDeclaration(fn)))]),
  };
}

const check = (repairs: string) => `if (bad != 0u) { bad = 0u; ${repairs} tell(); }`;

describe("loads", () => {
  it("run before the statements that use them, with one check for all", () => {
    expect(rewritten("let x = a[i]; let y = a[k] + x;").statements).toEqual([
      "var loaded_1 = peeked(u32(i));",
      "var loaded_2 = peeked(u32(k));",
      check("loaded_1 = repaired(u32(i)); loaded_2 = repaired(u32(k));"),
      "let x = loaded_1;",
      "let y = loaded_2 + x;",
    ]);
  });

  it("are checked before a later load uses what was loaded", () => {
    expect(rewritten("let x = a[i]; let y = a[x];").statements).toEqual([
      "var loaded_1 = peeked(u32(i));",
      check("loaded_1 = repaired(u32(i));"),
      "let x = loaded_1;",
      "var loaded_2 = peeked(u32(x));",
      check("loaded_2 = repaired(u32(x));"),
      "let y = loaded_2;",
    ]);
  });

  it("do not move across a barrier", () => {
    const { statements } = rewritten("let x = a[i]; workgroupBarrier(); let y = a[k];");
    const [before, after] = [statements.indexOf("workgroupBarrier();"), statements.length - 3];
    expect(statements.slice(0, before).join()).toContain("peeked(u32(i))");
    expect(statements.slice(before + 1, after + 1)).toEqual(["var loaded_2 = peeked(u32(k));"]);
  });

  it("are checked before a later load uses a variable to which they were assigned", () => {
    const { statements } = rewritten("var sum = 0u; sum = a[i]; let y = a[sum];");
    expect(statements.slice(-4)).toEqual([
      "sum = loaded_1;",
      "var loaded_2 = peeked(u32(sum));",
      check("loaded_2 = repaired(u32(sum));"),
      "let y = loaded_2;",
    ]);
  });

  it("run ahead of stores to workgroup memory, but not of stores to other memory", () => {
    const variables = "var<workgroup> tile: array<u32, 64>; var<private> own: u32;";
    const placeOfLast = (body: string) =>
      rewritten(body, variables).statements.indexOf("var loaded_2 = peeked(u32(k));");
    expect(placeOfLast("tile[i] = a[i]; let y = a[k];")).toBe(1);
    expect(placeOfLast("own = a[i]; let y = a[k];")).toBe(3);
  });

  it("in the arguments of a call with effects are corrected in their place", () => {
    expect(rewritten("let x = effect(a[i]); if (i > 3) { effect(a[k]); }").statements).toEqual([
      "let x = effect(corrected(u32(i)));",
      "if (i > 3) { effect(corrected(u32(k))); }",
    ]);
    expect(rewritten("if (a[i] > 3) { effect(1u); }").statements.at(-1)).toBe(
      "if (loaded_1 > 3) { effect(1u); }",
    );
  });

  it("of a branch run in their place, and the branch again after an error", () => {
    expect(rewritten("var sum = 0u; if (i > 3) { sum += a[i]; }").statements).toEqual([
      "var sum = 0u;",
      "if (i > 3) { sum += peeked(u32(i)); }",
      check("sum = 0u; if (i > 3) { sum += repaired(u32(i)); }"),
    ]);
  });

  it("that decide how long a loop runs are corrected in their place", () => {
    expect(rewritten("for (var n = a[0]; n < a[1]; n++) { a[n] = i; }").statements).toEqual([
      "for (var n = corrected(u32(0)); n < corrected(u32(1)); n++) { store_1(u32(n), i); }",
    ]);
    expect(rewritten("while (a[i] > 3) { a[i] = 0u; }").statements).toEqual([
      "while (corrected(u32(i)) > 3) { store_1(u32(i), 0u); }",
    ]);
  });

  it("that begin a loop are corrected in their place, also where the loop runs again", () => {
    const { statements } = rewritten("var sum = 0u; for (var n = a[0]; n < 4; n++) { sum += a[n]; }");
    expect(statements.slice(1)).toEqual([
      "for (var n = corrected(u32(0)); n < 4; n++) { sum += peeked(u32(n)); }",
      check("sum = 0u; for (var n = corrected(u32(0)); n < 4; n++) { sum += repaired(u32(n)); }"),
    ]);
  });

  it("that select a branch run ahead of it", () => {
    expect(rewritten("switch (a[i]) { case 1u { a[k] = 0u; } default {} }").statements).toEqual([
      "var loaded_1 = peeked(u32(i));",
      check("loaded_1 = repaired(u32(i));"),
      "switch (loaded_1) { case 1u: { store_1(u32(k), 0u); } default: {} }",
    ]);
  });
});

it("stores through functions, after the check of what is stored", () => {
  expect(rewritten("let x = a[i]; a[k + 1] = x;").statements.slice(1)).toEqual([
    check("loaded_1 = repaired(u32(i));"),
    "let x = loaded_1;",
    "store_1(u32(k + 1), x);",
  ]);
});

it("encodes consecutive stores to lines together, past declarations without effects", () => {
  const groups = (between: string) => {
    const line = { memory: "secded128", pieceBytes: 4 } as const;
    const { statements } = rewritten(`a[i] = 1u; ${between} a[i + 64] = 2u;`, effects, line);
    return statements.filter((each) => each.startsWith("let together"));
  };
  expect(groups("let y = i + 3u;")).toHaveLength(1);
  expect(groups("let y = effect(3u);")).toHaveLength(2);
});

it("makes a version of a function for callers that check its loads, and one for those that repair", () => {
  const { statements, made } = rewritten("let x = one(i);", "fn one(n: u32) -> u32 { return a[n + 1]; }");
  expect(statements).toEqual([
    "var loaded_1 = peeked_one(i);",
    check("loaded_1 = repaired_one(i);"),
    "let x = loaded_1;",
  ]);
  expect(made).toEqual([
    ["one", "fn peeked_one(n: u32) -> u32 { return peeked(u32(n + 1)); }"],
    ["one", "fn repaired_one(n: u32) -> u32 { return repaired(u32(n + 1)); }"],
  ]);
});

it("drops the value of a call that was loaded ahead", () => {
  const { statements } = rewritten("one(i);", "fn one(n: u32) -> u32 { return a[n]; }");
  expect(statements.at(-1)).toBe("_ = loaded_1;");
});
