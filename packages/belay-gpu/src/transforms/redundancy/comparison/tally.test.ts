import { expect, it } from "vitest";
import { newLibrary, runReplicas } from "../../../../../../test/support/kernels/replicas.ts";
import type { Statement } from "../../../wgsl/ast.ts";
import { printStatement } from "../../../wgsl/printer.ts";
import { quote } from "../../../wgsl/quote.ts";
import { newTally, storedOnce, tallied, tallyVariable } from "./tally.ts";

const { expression, statements } = quote();
const isFirst = expression`belay_replica == 0u`;
const text = (made: readonly Statement[]) => made.map((each) => printStatement(each).replaceAll(/\s+/g, " "));

it("adds a weight in the replica that stores, and subtracts it in the other", () => {
  expect(text(tallied(newLibrary(), isFirst, statements`x = 1u;`, statements`y = 2u;`))).toEqual([
    "belay_weight *= 0x9e3779b1u;",
    "belay_tally -= belay_weight;",
    "if (belay_replica == 0u) { x = 1u; belay_tally += 2u * belay_weight; } else { y = 2u; }",
  ]);
});

it("stores in one replica without tallies where nothing is compared", () => {
  expect(text(storedOnce(isFirst, statements`x = 1u;`, []))).toEqual([
    "if (belay_replica == 0u) { x = 1u; }",
  ]);
});

/** The stores that two replicas make. Bit `i` is for the stores `i`, `i + 32` and so on. */
type Made = readonly [first: number, second: number];

/** Returns the sum of both replicas' tallies after so many stores, for several invocations. */
function sumsOfTallies(made: readonly Made[], count = 32): number[] {
  const library = newLibrary();
  const makes = expression`((input[lane].x >> (i % 32u)) & 1u) != 0u`;
  const body = `
    var stored = 0u;
    for (var i = 0u; i < ${count}u; i++) { ${text(tallied(library, makes, statements`stored++;`, [])).join(" ")} }
    output[lane] = ${tallyVariable(library)};`;
  const replicas = made.flat().map((each) => [each]);
  const { output } = runReplicas(library, body, replicas);
  return made.map((_, i) => (output[2 * i]! + output[2 * i + 1]!) >>> 0);
}

const [all, none] = [0xffff_ffff, 0];
const eachStore = Array.from({ length: 32 }, (_, i) => (1 << i) >>> 0);

it("adds up to zero where exactly one replica makes each store", () => {
  const mixed: Made = [0x1234_5678, ~0x1234_5678];
  expect(sumsOfTallies([[all, none], mixed])).toEqual([0, 0]);
});

it.each<[string, (store: number) => Made]>([
  ["is missing", (store) => [all ^ store, none]],
  ["is made by both", (store) => [all, store]],
  ["is missing, and the next is made by both", (store) => [all ^ store, store << 1]],
])("does not add up to zero where a store %s", (_, made) => {
  expect(sumsOfTallies(eachStore.map(made))).not.toContain(0);
});

it.each([1, 2, 3, 4, 64, 1024, 4096])(
  "does not add up to zero where both or neither make %d stores",
  (count) => {
    const [both, neither]: Made[] = [
      [all, all],
      [none, none],
    ];
    expect(sumsOfTallies([both!, neither!], count)).not.toContain(0);
  },
);

it("starts anew for another invocation on the lane", () => {
  const library = newLibrary();
  const store = text(tallied(library, isFirst, statements`stored++;`, [])).join(" ");
  const tally = tallyVariable(library);
  const body = `
    var stored = 0u;
    ${store}
    let before = ${tally};
    ${newTally(library)}
    ${store}
    output[lane] = u32(${tally} == before);`;
  expect(runReplicas(library, body, [[0], [0]]).output).toEqual([1, 1]);
});
