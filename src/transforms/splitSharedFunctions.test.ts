import { expect, it } from "vitest";
import { parse } from "../wgsl/parser.ts";
import { print } from "../wgsl/printer.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { children } from "../wgsl/traverse.ts";
import { Names } from "./names.ts";
import { splitSharedFunctions } from "./splitSharedFunctions.ts";

const source = `
@group(0) @binding(0) var image: texture_storage_1d<r32uint, write>;
fn f() { var x = vec4(1u); textureStore(image, 0, x); }
@compute @workgroup_size(1) fn safe() { f(); }
@fragment fn plain() { f(); }
`;

function split(code: string) {
  const program = resolve(parse(code).module);
  return splitSharedFunctions(program, new Names(program), new Set(["safe"]));
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
