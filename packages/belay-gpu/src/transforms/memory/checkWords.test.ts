import { expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { schemeOf } from "../../ecc/scheme.ts";
import { printDeclaration } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { CheckWords } from "./checkWords.ts";
import { GeneratedDeclarations } from "./generatedDeclarations.ts";

function made() {
  const library = new GeneratedDeclarations();
  const names = new Names(typed("@compute @workgroup_size(1) fn main() {}"));
  const words = new CheckWords(names, library, {
    arena: { group: 1, binding: 2 },
    table: { group: 1, binding: 3 },
    rows: 5,
  });
  const declared = () => library.declarations.map((each) => printDeclaration(each).trim());
  return { words, declared };
}

it("finds the check word and the size of a binding in its row of the table", () => {
  const { words, declared } = made();
  const variable = { name: "x", index: 4, scheme: schemeOf("secded32") };
  expect(words.numberOf(variable, "granule")).toBe("belay_check_table[4].x + granule");
  expect(words.bytesOf(variable)).toBe("belay_check_table[4].y");
  expect(declared()).toEqual(["@group(1) @binding(3) var<uniform> belay_check_table: array<vec4<u32>, 5>;"]);
});

it("declares the arena once for each access, and only as writable as the access asks", () => {
  const { words, declared } = made();
  expect([words.load("read", "n"), words.load("read", "m")]).toEqual([
    "belay_check_words_read[n]",
    "belay_check_words_read[m]",
  ]);
  expect(words.store("read_write", "n", "v")).toBe("belay_check_words_read_write[n] = v;");
  expect(words.load("atomic", "n")).toBe("atomicLoad(&belay_check_words_atomic[n])");
  expect(words.store("atomic", "n", "v")).toBe("atomicStore(&belay_check_words_atomic[n], v);");
  expect(words.change("n", "by")).toBe("atomicXor(&belay_check_words_atomic[n], by);");
  expect(declared().sort()).toEqual([
    "@group(1) @binding(2) var<storage, read_write> belay_check_words_atomic: array<atomic<u32>>;",
    "@group(1) @binding(2) var<storage, read_write> belay_check_words_read_write: array<u32>;",
    "@group(1) @binding(2) var<storage> belay_check_words_read: array<u32>;",
  ]);
});
