import { expect, it } from "vitest";
import { typed } from "../../../../../../test/support/wgsl/goldens.ts";
import { printDeclaration } from "../../../wgsl/printer.ts";
import { Names } from "../../shared/names.ts";
import { Library } from "./library.ts";

const newLibrary = (wgsl = "fn f() {}") => new Library(new Names(typed(wgsl)));

it("emits a thing once, under the name that the module leaves free", () => {
  const library = newLibrary("const belay_turn = 1;");
  const turn = () => library.once("turn", (name) => `var<private> ${name}: u32;`);
  expect([turn(), turn()]).toEqual(["belay1_turn", "belay1_turn"]);
  expect(library.takeDeclarations().map(printDeclaration)).toEqual(["var<private> belay1_turn: u32;"]);
});

it("emits what a thing needs before the thing", () => {
  const library = newLibrary();
  library.once(
    "outer",
    (name) => `fn ${name}() { ${library.once("inner", (inner) => `fn ${inner}() {}`)}(); }`,
  );
  const names = library.takeDeclarations().map((d) => "name" in d && d.name);
  expect(names).toEqual(["belay_inner", "belay_outer"]);
});

it("hands declarations out once", () => {
  const library = newLibrary();
  library.once("a", (name) => `const ${name} = 1;`);
  expect(library.takeDeclarations()).toHaveLength(1);
  library.once("a", (name) => `const ${name} = 1;`);
  expect(library.takeDeclarations()).toEqual([]);
});

it("names a thing otherwise on request", () => {
  const library = newLibrary();
  const newName = () => library.names.fresh("hash");
  const hash = (thing: string) => library.once(thing, (name) => `const ${name} = 1;`, newName);
  expect([hash("array<S, 4>"), hash("S"), hash("array<S, 4>")]).toEqual([
    "belay_hash_1",
    "belay_hash_2",
    "belay_hash_1",
  ]);
});
