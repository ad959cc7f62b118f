import { expect, it } from "vitest";
import { parse } from "../../wgsl/parser.ts";
import { print } from "../../wgsl/printer.ts";
import { resolve } from "../../wgsl/resolve/index.ts";
import { keepBindings } from "./keepBindings.ts";

const declarations = `
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@group(0) @binding(2) var image: texture_2d<f32>;
`;
const programOf = (functions: string) => resolve(parse(declarations + functions).module);

it("uses what the source uses and the program does not, and nothing else", () => {
  const source = programOf(`
fn f(p: ptr<storage, array<u32>, read_write>) {}
@compute @workgroup_size(1) fn main() { f(&a); b[0] = 1; _ = image; }
@compute @workgroup_size(1) fn alone() { f(&a); }`);
  const program = programOf(`
@compute @workgroup_size(1) fn main() { b[0] = 1; }
@compute @workgroup_size(1) fn alone() { }`);
  const text = print(keepBindings(program, source, { entryPoints: new Set(["main"]) }));
  expect(text).toMatch(/fn main\(\) \{\n {2}_ = &a;\n {2}_ = image;\n {2}b\[0\] = 1;/);
  expect(text).toMatch(/fn alone\(\) \{\s*\}/);
});
