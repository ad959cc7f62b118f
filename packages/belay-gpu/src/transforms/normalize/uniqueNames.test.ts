import { describe, expect, it } from "vitest";
import { goldens, type Step, typed } from "../../../../../test/support/wgsl/goldens.ts";
import { Names } from "../shared/names.ts";
import { uniqueNames } from "./uniqueNames.ts";

const golden = goldens("uniqueNames");
const unique: Step = (program, names) => uniqueNames(program, names).module;

describe("renames", () => {
  it("locals that hide a name of the module", () =>
    golden(
      "locals that hide the module",
      `var<workgroup> tile: u32;
      const tile_1 = 1;
      fn f(tile: u32) -> u32 { let x = tile; { var tile = x; tile += tile_1; return tile; } }
      fn g() -> u32 { return tile + f(tile); }`,
      unique,
    ));

  it("locals that hide a function or type of the language, and their uses only", () =>
    golden(
      "locals that hide the language",
      `fn f(min: u32, select: bool) -> vec2<u32> {
        var u32 = min;
        u32 += vec2(min, 1u).y;
        return vec2(u32, max(min, 2u));
      }`,
      unique,
    ));

  it("module variables, functions, structs, aliases and constants that hide a name of the language", () =>
    golden(
      "declarations that hide the language",
      `alias u32 = i32;
      struct vec2 { f32: u32, atomicAdd: f32 }
      const pack2x16float = 3u;
      var<private> min: array<u32, pack2x16float>;
      fn select(a: vec2) -> u32 { return a.f32 + min[0]; }
      fn f() -> u32 { var v: vec2; v.f32 = 2; return select(vec2(v.f32, v.atomicAdd)); }`,
      unique,
    ));

  it("an override with an id, as the host knows it by that", () =>
    golden(
      "an override with an id",
      `@id(7) override max: u32 = 4;
      @compute @workgroup_size(max) fn main() { let main = max; }`,
      unique,
    ));

  it("a function that is named like a built-in value, which stays", () =>
    golden(
      "a function named like a built in value",
      `fn bitcast(position: u32) -> u32 { return position; }
      fn workgroup_id(i: u32) -> u32 { return bitcast(i); }
      @compute @workgroup_size(8) fn main(@builtin(workgroup_id) id: vec3u) { _ = workgroup_id(id.x); }`,
      unique,
    ));
});

it("shares what needs no other name", () => {
  const program = typed("fn f(a: u32) -> u32 { let b = a; { let b = a; return b; } }");
  expect(uniqueNames(program, new Names(program)).module).toBe(program.module);
});

describe("names that the host knows", () => {
  const renamedIn = (wgsl: string) => {
    const program = typed(wgsl);
    return [...uniqueNames(program, new Names(program)).knownToHost];
  };

  it("stay where generated code has no use for what they hide", () => {
    expect(renamedIn("@compute @workgroup_size(1) fn transpose() {}")).toEqual([]);
    expect(renamedIn("override log2 = 1.0;")).toEqual([]);
  });

  it.each(["min", "select", "bitcast", "u32", "vec4", "array", "atomicLoad", "read_write"])(
    "give way where generated code uses %s",
    (name) => {
      const renamed = [[name, `${name}_1`]];
      expect(renamedIn(`@compute @workgroup_size(1) fn ${name}() {}`)).toEqual(renamed);
      expect(renamedIn(`@fragment fn ${name}() {}`)).toEqual(renamed);
      expect(renamedIn(`override ${name} = 1.0;`)).toEqual(renamed);
      expect(renamedIn(`@id(1) override ${name} = 1.0;`)).toEqual([]);
    },
  );

  it("are entry points and overrides, with all that refers to them", () =>
    golden(
      "entry points and overrides that hide the language",
      `override min: u32 = 4;
      override select_1 = 2 * min;
      @id(3) override array = 3u;
      @compute @workgroup_size(min, select_1) fn select() { let select = min + array; _ = select; }
      @fragment fn all() {}
      @compute @workgroup_size(1) fn transpose() {}`,
      unique,
    ));
});
