import { expect, it } from "vitest";
import { goldens } from "../../../../../test/support/wgsl/goldens.ts";
import { parse } from "../../wgsl/parser.ts";
import { print } from "../../wgsl/printer.ts";
import { resolve } from "../../wgsl/resolve/index.ts";
import { children } from "../../wgsl/traverse.ts";
import { Names } from "../shared/names.ts";
import { splitSharedFunctions } from "./splitSharedFunctions.ts";

const source = `
@group(0) @binding(0) var image: texture_storage_1d<r32uint, write>;
fn f() { var x = vec4(1u); textureStore(image, 0, x); }
@compute @workgroup_size(1) fn safe() { f(); }
@fragment fn plain() { f(); }
`;

function split(code: string) {
  const program = resolve(parse(code).module);
  return splitSharedFunctions(program, new Names(program), [new Set(["safe"])]);
}

it("gives an entry point that is left alone its own copy of a shared function", () => {
  const text = print(split(source));
  expect(text).toContain("fn safe() {\n  f();");
  expect(text).toContain("fn plain() {\n  belay_f_1();");
});

it("shares no node between a function and its copy", () => {
  const seen = new Set<object>();
  const visit = (node: object) => {
    expect(seen).not.toContain(node);
    seen.add(node);
    for (const child of children(node as Parameters<typeof children>[0])) visit(child);
  };
  visit(split(source));
});

const golden = goldens("splitSharedFunctions");
const safe = new Set(["safe"]);

it("copies what both reach through calls, and the workgroup variables they share", () =>
  golden(
    "functions and workgroup variables",
    `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
    var<workgroup> tile: array<u32, 8>;
    var<workgroup> other: u32;
    var<private> mine: u32;
    fn leaf(i: u32) -> u32 { return tile[i] + mine; }
    fn inner(i: u32) { a[i] = leaf(i) + leaf(i + 1u); }
    fn alone() { other = leaf(2u); }
    fn elsewhere() { a[0] = 1u; }
    @compute @workgroup_size(8) fn safe() { inner(1u); elsewhere(); }
    @compute @workgroup_size(8) fn plain() { inner(2u); alone(); }`,
    (program, names) => splitSharedFunctions(program, names, [safe]),
  ));

it("changes nothing when nothing is shared", () => {
  const program = resolve(
    parse(`
      @group(0) @binding(0) var<storage, read_write> a: array<u32>;
      fn f() { a[0] = 1u; }
      @compute @workgroup_size(8) fn safe() { f(); a[1] = 2u; }
      @compute @workgroup_size(8) fn plain() { a[2] = 3u; }
      fn orphan() { f(); }`).module,
  );
  expect(splitSharedFunctions(program, new Names(program), [safe])).toBe(program.module);
});

it("separates as many groups as asked for", () =>
  golden(
    "three groups",
    `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
    fn leaf(i: u32) { a[i] = i; }
    fn inner(i: u32) { leaf(i); }
    @compute @workgroup_size(8) fn safe() { inner(1u); }
    @compute @workgroup_size(8) fn other() { leaf(2u); inner(3u); }
    @compute @workgroup_size(8) fn plain() { leaf(4u); }`,
    (program, names) => splitSharedFunctions(program, names, [safe, new Set(["other"])]),
  ));
