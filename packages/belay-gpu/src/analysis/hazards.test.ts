import { describe, expect, it } from "vitest";
import { parse } from "../wgsl/parser.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { functionsOf, stageOf } from "./callGraph.ts";
import { hazardousVariables, loadsAfterStores } from "./hazards.ts";

function hazards(body: string, functions = ""): string[] {
  const code = `
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    var<workgroup> tile: array<u32, 64>;
    var<workgroup> flag: u32;
    var<workgroup> bins: array<atomic<u32>, 64>;
    ${functions}
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) { ${body} }`;
  const program = resolve(parse(code).module);
  expect(program.diagnostics).toEqual([]);
  const entryPoints = functionsOf(program).filter((fn) => stageOf(fn));
  return [...hazardousVariables(program, entryPoints)].map((variable) => variable.name).sort();
}

describe("hazardousVariables", () => {
  it.each([
    ["a store alone", "out[l] = 1;", []],
    ["a load, then a store", "out[l] = out[63 - l];", ["out"]],
    ["a compound assignment", "out[l] += 1;", ["out"]],
    [
      "a load and a store in different iterations",
      "loop { a[l] = out[0]; workgroupBarrier(); storageBarrier(); out[l] = 1; if (l < 64) { continue; } break; }",
      ["out"],
    ],
    ["a loop of one iteration", "loop { a[l] = out[0]; storageBarrier(); out[l] = 1; break; }", []],
    ["an increment", "tile[l]++;", ["tile"]],
    ["a store, then a load", "out[l] = 1; a[l] = out[0];", ["out"]],
    ["a load of one variable and a store of another", "out[l] = a[l];", []],
    ["the index of a store", "out[out[l]] = 1;", ["out"]],
    ["a barrier between", "tile[l] = 1; workgroupBarrier(); out[l] = tile[0];", []],
    ["a barrier of the other space", "tile[l] = 1; storageBarrier(); out[l] = tile[0];", ["tile"]],
    ["a uniform load between", "tile[l] = 1; _ = workgroupUniformLoad(&flag); out[l] = tile[0];", []],
    [
      "tiles with two barriers in a loop",
      "for (var i = 0; i < 4; i++) { tile[l] = 1; workgroupBarrier(); out[l] = tile[0]; workgroupBarrier(); }",
      [],
    ],
    [
      "tiles with one barrier in a loop",
      "for (var i = 0; i < 4; i++) { tile[l] = 1; workgroupBarrier(); out[l] = tile[0]; }",
      ["tile"],
    ],
    [
      "a condition of a loop that loads",
      "while (tile[0] < 3) { workgroupBarrier(); tile[l] = 1; workgroupBarrier(); }",
      [],
    ],
    [
      "a condition that loads after a store of the last iteration",
      "while (tile[0] < 3) { workgroupBarrier(); tile[l] = 1; }",
      ["tile"],
    ],
    [
      "a barrier on one path only",
      "tile[l] = 1; if (l < 70) { workgroupBarrier(); } out[l] = tile[0];",
      ["tile"],
    ],
    [
      "a jump around a barrier",
      "for (var i = 0; i < 4; i++) { tile[l] = 1; if (i == 2) { break; } workgroupBarrier(); } out[l] = tile[0];",
      ["tile"],
    ],
    [
      "a jump back around a barrier",
      "for (var i = 0; i < 4; i++) { out[l] = tile[0]; workgroupBarrier(); tile[l] = 1; if (i == 1) { continue; } workgroupBarrier(); }",
      ["tile"],
    ],
    [
      "a jump around a barrier to a store at the end of the iteration",
      "var i = 0; loop { let x = tile[l]; if (i == 1) { continue; } workgroupBarrier(); continuing { tile[l] = x; workgroupBarrier(); i++; break if i > 3; } }",
      ["tile"],
    ],
    ["the length of an array", "out[l] = arrayLength(&out);", []],
  ])("%s", (_, body, expected) => {
    // The uniformity rules would reject barriers under conditions on `l`; the analysis does not
    // check them.
    expect(hazards(body)).toEqual(expected);
  });

  it("follows calls", () => {
    const functions = `
      fn put(i: u32) { tile[i] = 1; }
      fn meet(i: u32) { put(i); workgroupBarrier(); }
      fn early(i: u32) { if (i > 3) { return; } workgroupBarrier(); }`;
    expect(hazards("meet(l); out[l] = tile[0];", functions)).toEqual([]);
    expect(hazards("put(l); out[l] = tile[0];", functions)).toEqual(["tile"]);
    expect(hazards("put(l); early(l); out[l] = tile[0];", functions)).toEqual(["tile"]);
  });
});

describe("loadsAfterStores", () => {
  const pairs = (body: string, functions = ""): string[] => {
    const code = `
      @group(0) @binding(0) var<storage, read_write> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      var<workgroup> tile: array<u32, 64>;
      ${functions}
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) { ${body} }`;
    const program = resolve(parse(code).module);
    expect(program.diagnostics).toEqual([]);
    const main = functionsOf(program).find((fn) => stageOf(fn))!;
    const text = ({ start, end }: { start: number; end: number }) => code.slice(start, end);
    return loadsAfterStores(program, main).map(
      ({ variable, earlier, later }) => `${variable.name}: ${text(earlier)}, ${text(later)}`,
    );
  };

  it.each([
    ["loads, then a store", "let v = a[l] + a[l + 1]; a[l] = v; a[l + 1] = v;", []],
    [
      "loads in a loop, stores in the next",
      "var v = 0u; for (var i = 0u; i < 4; i++) { v += a[i]; } for (var i = 0u; i < 4; i++) { a[i] = v; }",
      [],
    ],
    ["a store, then a load", "a[l] = 1; out[l] = a[l ^ 1];", ["a: a[l], a"]],
    ["a storage barrier between", "a[l] = 1; storageBarrier(); out[l] = a[l ^ 1];", ["a: a[l], a"]],
    ["a load in the next iteration", "for (var i = 0u; i < 4; i++) { a[i] = a[i + 1]; }", ["a: a[i], a"]],
    ["two compound assignments", "a[l] += 1; a[l + 1] += 1;", ["a: a[l], a"]],
    ["branches that do one of the two", "if (l < 3) { a[l] = 1; } else { out[l] = a[0]; }", []],
    ["workgroup memory", "tile[l] = 1; workgroupBarrier(); out[l] = tile[0];", []],
  ])("%s", (_, body, found) => expect(pairs(body)).toEqual(found));

  it("follows calls", () => {
    const functions = "fn put(i: u32) { a[i] = 1; } fn get(i: u32) -> u32 { return a[i]; }";
    expect(pairs("let v = get(l); put(l + v);", functions)).toEqual([]);
    expect(pairs("put(l); out[l] = get(l);", functions)).toEqual(["a: a[i], a"]);
  });
});
