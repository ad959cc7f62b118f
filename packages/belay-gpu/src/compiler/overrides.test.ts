import { expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { print } from "../wgsl/printer.ts";
import { unknownConstants, withConstants } from "./overrides.ts";

const constants = (wgsl: string, values: Record<string, number>) =>
  print(withConstants(typed(wgsl), values).module)
    .trim()
    .split("\n");

it("gives overrides their values, by name or by id, as constants of their types", () => {
  const wgsl = `
    override width: u32;
    @id(7) override height = 2i;
    override ratio: f32 = 0.5;
    override on = true;
    override left: i32 = 1;`;
  expect(constants(wgsl, { width: 8, 7: 3, height: 99, ratio: 1.5, on: 0, left: -4.9 })).toEqual([
    "const width: u32 = 8;",
    "const height = 3;",
    "const ratio: f32 = 1.5;",
    "const on = false;",
    "const left: i32 = -4;",
  ]);
});

it("falls back to initializers, and keeps overrides that have neither, or depend on such", () => {
  expect(constants("override a: u32; override b = a * 2u; override c = 3u;", {})).toEqual([
    "override a: u32;",
    "override b = a * 2u;",
    "",
    "const c = 3u;",
  ]);
});

it("knows the sizes that follow", () => {
  const program = typed("override n = 4u; override m = n * 2u; @compute @workgroup_size(m) fn main() {}");
  const sized = withConstants(program, { n: 16 });
  const main = sized.module.declarations.at(-1)!;
  const size =
    main.kind === "function" ? main.attributes.find((a) => a.name === "workgroup_size")!.args[0]! : undefined;
  expect(sized.constantOf(size!)).toMatchObject({ value: 32 });
});

it.each([0, -1, 0.5, 2 ** 32, Number.POSITIVE_INFINITY])(
  "leaves sizes open that no pipeline can have: %d",
  (n) => {
    const program = typed("override n = 4i; var<workgroup> tile: array<u32, n>; fn f() { tile[0] = 1u; }");
    expect(withConstants(program, { n })).toBe(program);
  },
);

it("finds values by no names that objects have anyway", () => {
  expect(constants("override constructor = 4u;", {})).toEqual(["const constructor = 4u;"]);
  expect(unknownConstants(typed("@id(3) override n = 4u;"), { 3: 1, n: 2, toString: 3 })).toEqual([
    "n",
    "toString",
  ]);
});
