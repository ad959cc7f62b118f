import { expect, it } from "vitest";
import { printDeclaration } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";
import { GeneratedDeclarations } from "./generatedDeclarations.ts";

it("makes each declaration once, also if one is used while it is made", () => {
  const library = new GeneratedDeclarations();
  let times = 0;
  const first = (): string =>
    library.make("first", (name) => {
      times++;
      return quote().declarations`fn ${name}() { ${second()}(); }`;
    });
  const second = (): string =>
    library.make("second", (name) => quote().declarations`fn ${name}() { _ = ${first().length}; }`);
  const other = () => library.make("other", (name) => quote().declarations`var<private> ${name}: u32;`);
  expect([other(), first(), first()]).toEqual(["other", "first", "first"]);
  expect(times).toBe(1);
  const names = library.declarations.map((each) => printDeclaration(each).match(/(?:fn|>) (\w+)/)![1]);
  expect(names.sort()).toEqual(["first", "other", "second"]);
});
