import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { printStatement } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AccessReplacement, mapAccesses } from "./mapAccesses.ts";

const { expression, statements } = quote();

/** Returns a statement in which accesses to `a` are replaced. */
function mapped(text: string, store?: AccessReplacement["store"]): string {
  const program = typed(`
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<vec2u>;
    @group(0) @binding(2) var<storage, read_write> n: atomic<u32>;
    fn f(i: u32) { ${text} }`);
  const fn = program.module.declarations.at(-1);
  if (fn?.kind !== "function") throw new Error("the last declaration is f");
  const made = mapAccesses(program, fn.body, {
    selects: ({ name }) => name === "a",
    load: (place) => expression`load(${place})`,
    ...(store && { store }),
  });
  return made.statements.map(printStatement).join(" ").replaceAll(/\s+/g, " ");
}

describe("loads", () => {
  it("of the selected variables are replaced, also in indices", () => {
    expect(mapped("b[a[i]].x = a[b[i].y];")).toBe("b[load(a[i])].x = load(a[b[i].y]);");
  });

  it("of others stay, and so do addresses", () => {
    expect(mapped("let x = b[i].x + atomicLoad(&n) + arrayLength(&a);")).toBe(
      "let x = b[i].x + atomicLoad(&n) + arrayLength(&a);",
    );
  });

  it("in the index of a place that is loaded are replaced before it", () => {
    expect(mapped("let x = a[a[i]];")).toBe("let x = load(a[load(a[i])]);");
  });

  it("are replaced in all statements", () => {
    expect(mapped("if (a[i] > 1) { for (var k = a[0]; k < 9; k++) { b[a[k]].x++; } }")).toBe(
      "if (load(a[i]) > 1) { for (var k = load(a[0]); k < 9; k++) { b[load(a[k])].x++; } }",
    );
  });
});

describe("a store", () => {
  it("stays, with the loads in it replaced", () => {
    expect(mapped("a[a[i]] = a[0];")).toBe("a[load(a[i])] = load(a[0]);");
  });

  it("to a selected variable may be replaced", () => {
    const text = mapped(
      "a[i] = a[0]; b[i].x = 1u;",
      ({ target, value }) => statements`store(${target!}, ${value});`,
    );
    expect(text).toBe("store(a[i], load(a[0])); b[i].x = 1u;");
  });
});
