import { describe, expect, it } from "vitest";
import { parse } from "../wgsl/parser.ts";
import { printStatement } from "../wgsl/printer.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { functionsOf, stageOf } from "./callGraph.ts";
import { loadStoreFrontierIn } from "./loadStoreFrontier.ts";

const declarations = `
  enable subgroups;
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> b: array<u32>;
  @group(0) @binding(2) var<storage, read> c: array<u32>;
  @group(0) @binding(3) var<storage, read_write> count: atomic<u32>;
  @group(0) @binding(4) var picture: texture_storage_2d<r32uint, write>;
  var<workgroup> tile: array<u32, 64>;
  fn get(i: u32) -> u32 { if (i < 9u) { return a[i]; } return 0u; }
  fn put(i: u32, v: u32) { if (v > 2u) { a[i] = v; b[i] = 1u; } }
  fn bump(i: u32) { let v = a[i]; a[i] = v + 1u; }
  fn meet() { workgroupBarrier(); }`;

/** Returns the statements after the frontier, and whether whole workgroups reach it together. */
function frontier(body: string) {
  const code = `${declarations}
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
      let i = id.x; ${body} }`;
  const program = resolve(parse(code).module);
  expect(program.diagnostics).toEqual([]);
  const found = loadStoreFrontierIn(program, functionsOf(program).find((fn) => stageOf(fn))!);
  return found && { before: [...found.before].map(printStatement), together: found.together };
}

describe("the frontier of an invocation is", () => {
  it.each<[string, string, string[]]>([
    ["before its first store", "let v = a[i]; a[i] = v + 1u; b[i] = v;", ["a[i] = v + 1u;"]],
    ["before any output", "let v = a[i]; b[i] = v; a[i] = v;", ["b[i] = v;"]],
    [
      "before an atomic operation",
      "let v = a[i]; atomicAdd(&count, v); a[i] = v;",
      ["atomicAdd(&count, v);"],
    ],
    [
      "before a store to a texture",
      "let v = a[i]; textureStore(picture, id.xy, vec4u(v)); a[i] = v;",
      ["textureStore(picture, id.xy, vec4u(v));"],
    ],
    ["before calls that store", "let v = get(i) + get(i + 1u); put(i, v); put(i + 1u, v);", ["put(i, v);"]],
    ["after an early return", "if (i > 9u) { return; } let v = a[i]; a[i] = v;", ["a[i] = v;"]],
    ["in a branch", "if (i < 9u) { let v = a[i]; a[i] = v; }", ["a[i] = v;"]],
    [
      "in one of several branches",
      "if (i < 9u) { let v = a[i]; a[i] = v; } else if (i < 12u) { let v = b[i]; b[i] = v; } else { _ = a[0]; }",
      ["a[i] = v;", "b[i] = v;"],
    ],
    ["in a block", "{ let v = a[i]; a[i] = v; } b[i] = 1u;", ["a[i] = v;"]],
    ["in a function that is called once", "bump(i);", ["a[i] = v + 1u;"]],
    [
      "before a loop that stores",
      "let v = a[i]; for (var k = 0u; k < 3u; k++) { b[k] = v; } a[i] = v;",
      ["for (var k = 0u; k < 3u; k++) {\n  b[k] = v;\n}"],
    ],
    [
      "before later loads of other buffers",
      "let v = a[i]; a[i] = v + c[i]; b[i] = c[0];",
      ["a[i] = v + c[i];"],
    ],
  ])("%s", (_, body, before) => {
    expect(frontier(body)).toEqual({ before, together: false });
  });

  it.each<[string, string]>([
    ["with a load after a store", "a[i] = 1u; b[i] = a[0];"],
    ["with a load after a store to another buffer", "b[i] = 1u; let v = a[i]; a[i] = v;"],
    [
      "in a loop, which loads again after its stores",
      "for (var k = i; k < 9u; k++) { let v = a[k]; a[k] = v; }",
    ],
    ["with a path around it to a store", "if (i < 9u) { let v = a[i]; a[i] = v; } b[i] = 1u;"],
    ["in a function that is called twice", "if (i < 9u) { bump(i); } else { bump(0u); }"],
    ["with loaded values exchanged in a subgroup", "let v = subgroupAdd(a[i]); a[i] = v;"],
    ["in a switch", "switch i { case 1: { let v = a[i]; a[i] = v; } default: {} }"],
  ])("nowhere %s", (_, body) => expect(frontier(body)).toBeUndefined());
});

describe("the frontier of a workgroup is", () => {
  it.each<[string, string, string]>([
    ["after a barrier", "tile[l] = a[i]; workgroupBarrier(); a[i] = tile[63u - l];", "a[i] = tile[63u - l];"],
    ["after a barrier in a function", "tile[l] = a[i]; meet(); a[i] = tile[0];", "a[i] = tile[0];"],
    [
      "after a barrier in a loop",
      "for (var k = 0u; k < 3u; k++) { tile[l] = a[i + k]; workgroupBarrier(); } a[i] = 1u;",
      "a[i] = 1u;",
    ],
    ["before a barrier", "let v = a[i]; a[i] = v; storageBarrier(); b[i] = v;", "a[i] = v;"],
    [
      "in a uniform branch",
      "if (c[0] > 1u) { tile[l] = a[i]; workgroupBarrier(); a[i] = tile[0]; }",
      "a[i] = tile[0];",
    ],
  ])("%s", (_, body, before) => expect(frontier(body)).toEqual({ before: [before], together: true }));

  it.each<[string, string]>([
    [
      "in a branch without a barrier",
      "tile[l] = 1u; workgroupBarrier(); if (i < 9u) { let v = a[i]; a[i] = v + tile[0]; }",
    ],
    [
      "after a return that follows the barrier",
      "tile[l] = a[i]; workgroupBarrier(); if (l > 3u) { return; } a[i] = tile[0];",
    ],
  ])("nowhere %s", (_, body) => expect(frontier(body)).toBeUndefined());
});
