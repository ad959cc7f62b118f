import { describe, expect, it } from "vitest";
import { parse } from "../wgsl/index.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { functionsOf, reachableFrom, stageOf, variablesOf } from "./callGraph.ts";

function programOf(source: string) {
  const program = resolve(parse(source).module);
  expect(program.diagnostics).toEqual([]);
  const named = (...names: string[]) => functionsOf(program).filter((fn) => names.includes(fn.name));
  return { program, named };
}

const names = (declarations: Iterable<{ readonly name: string }>) =>
  [...declarations].map(({ name }) => name).sort();

const source = `
  @group(0) @binding(0) var<storage, read_write> data: array<u32>;
  @group(0) @binding(1) var<uniform> factor: u32;
  var<workgroup> tile: array<u32, 64>;
  var<private> unused: u32;
  @compute @workgroup_size(64) fn first() { step(0u); if (data[0] > leaf(1u)) { return; } }
  @vertex fn second() -> @builtin(position) vec4f { let tile = 1.0; return vec4f(tile); }
  fn step(i: u32) { tile[i] = leaf(i) + leaf(i); write(&data, i); }
  fn leaf(i: u32) -> u32 { return i * factor; }
  fn write(p: ptr<storage, array<u32>, read_write>, i: u32) { p[i] = 1u; }
  fn orphan() { orphaned(); }
  fn orphaned() { data[1] = 0u; }
`;

describe("the call graph", () => {
  it("has the stage of each entry point", () => {
    const { program } = programOf(source);
    expect(functionsOf(program).map((fn) => [fn.name, stageOf(fn)])).toEqual([
      ["first", "compute"],
      ["second", "vertex"],
      ["step", undefined],
      ["leaf", undefined],
      ["write", undefined],
      ["orphan", undefined],
      ["orphaned", undefined],
    ]);
  });

  it("finds what a function reaches once for each version of a program", () => {
    const { program, named } = programOf(source);
    const reached = reachableFrom(program, named("first"));
    expect(reachableFrom(program, named("first"))).toBe(reached);
    const typedAgain = resolve(program.module);
    expect(reachableFrom(typedAgain, named("first"))).not.toBe(reached);
    expect([...reachableFrom(program, named("step", "first"))].map(({ name }) => name)).toEqual([
      ...[...reachableFrom(program, named("first"))].map(({ name }) => name),
    ]);
  });

  it("reaches callees in statements, conditions and arguments, and the roots themselves", () => {
    const { program, named } = programOf(source);
    expect(names(reachableFrom(program, named("first")))).toEqual(["first", "leaf", "step", "write"]);
    expect(names(reachableFrom(program, named("second")))).toEqual(["second"]);
    expect(names(reachableFrom(program, named("second", "orphan")))).toEqual([
      "orphan",
      "orphaned",
      "second",
    ]);
    expect(names(reachableFrom(program, []))).toEqual([]);
    const order = [...reachableFrom(program, named("first"))].map(({ name }) => name);
    expect(order.at(-1)).toBe("first");
    expect(order.indexOf("leaf")).toBeLessThan(order.indexOf("step"));
  });

  it("finds the variables that functions name, not the locals that shadow them", () => {
    const { program, named } = programOf(source);
    expect(names(variablesOf(program, reachableFrom(program, named("first"))))).toEqual([
      "data",
      "factor",
      "tile",
    ]);
    expect(names(variablesOf(program, named("write", "second")))).toEqual([]);
  });

  it("follows a chain of calls of any length", () => {
    const chain = Array.from({ length: 5000 }, (_, i) => `fn f${i}() { f${i + 1}(); }`).join("\n");
    const { program, named } = programOf(`${chain}\nfn f5000() {}`);
    expect(reachableFrom(program, named("f0")).size).toBe(5001);
  });
});
