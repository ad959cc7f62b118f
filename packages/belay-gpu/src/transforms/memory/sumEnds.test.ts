import { expect, it } from "vitest";
import { flat } from "../../../../../test/support/wgsl/checkedKernel.ts";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { dependence } from "../../analysis/valueDependences.ts";
import type { FunctionDeclaration } from "../../wgsl/ast.ts";
import { printDeclaration } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { GeneratedDeclarations } from "./generatedDeclarations.ts";
import { SumEnds } from "./sumEnds.ts";

type Added = Parameters<SumEnds["add"]>;

/** Returns the end of a kernel, and the declarations that it uses. */
function end(added: readonly Added[], sizes: readonly number[] = [64, 1, 1]) {
  const program = typed("@compute @workgroup_size(64) fn main() {}");
  const kernel = program.module.declarations[0] as FunctionDeclaration;
  const names = new Names(program);
  const library = new GeneratedDeclarations();
  const options = { slots: { group: 1, binding: 0 }, table: { group: 1, binding: 1 }, rows: 2, kernels: [] };
  const ends = new SumEnds(names, library, options, kernel, sizes);
  for (const [classes, isCounted] of added) ends.add(classes, isCounted);
  const text = flat(printDeclaration(ends.endOf(kernel)));
  return { text, declared: library.declarations.map((each) => flat(printDeclaration(each))) };
}

/** Returns a sum of places that do not vary with these ids. */
const sumOf = (sum: string, ids = 0) => ({ sum, ids, lanes: 1, dimensions: [] });

it("adds the sums of a workgroup up, and then to the slots of one of many stripes", () => {
  const { text, declared } = end([[[sumOf("s")], false]]);
  expect(text).toBe(
    "@compute @workgroup_size(64) fn main() { _ = &report; let all_1 = s; " +
      "atomicAdd(&sums_of_main[0], all_1.x); atomicAdd(&sums_of_main[1], all_1.y); workgroupBarrier(); " +
      "let part = local; if (part < 4u) { " +
      "let at = (workgroup.x + workgroup.y * 5u + workgroup.z * 7u) % 64u * 256u + check_table[0].x * 4u; " +
      "atomicAdd(&sum_slots[at + part], atomicLoad(&sums_of_main[part])); } }",
  );
  expect(declared).toEqual([
    "var<workgroup> sums_of_main: array<atomic<u32>, 4>;",
    "@group(1) @binding(0) var<storage, read_write> sum_slots: array<atomic<u32>>;",
    "@group(1) @binding(1) var<uniform> check_table: array<vec4<u32>, 2>;",
  ]);
});

it("gives each variable a slot, and counts places in a third word", () => {
  const { text } = end([
    [[sumOf("s")], true],
    [[sumOf("t")], false],
  ]);
  const added = [...text.matchAll(/atomicAdd\(&sums_of_main\[(\d)\], (\w+\.\w)\)/g)];
  expect(added.map(([, word, value]) => `${word}: ${value}`)).toEqual([
    "0: all_1.x",
    "1: all_1.y",
    "2: all_1.z",
    "4: all_2.x",
    "5: all_2.y",
  ]);
});

it("weights the classes of accesses, and invocations that access what another one does", () => {
  const ids = dependence.workgroup[2]! | dependence.local[1]!;
  const { text } = end([[[sumOf("s", ids), sumOf("t")], false]], [8, 4, 1]);
  expect(text).toContain("let all_1 = s * select(2u, 1u, (workgroup.z | (local / 8u % 4u)) == 0u) + t * 2u;");
});

it("adds in a loop where a workgroup has fewer invocations than words", () => {
  const { text } = end([[[sumOf("s")], false]], [2, 1, 1]);
  expect(text).toContain("for (var part = local; part < 4u; part += 2u) {");
});
