import { describe, expect, it } from "vitest";
import { applySteps, goldens, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { splitChains } from "./splitChains.ts";

const golden = goldens("splitChains");
const split: Step = (program, names) => splitChains(program.module, names);
const chain = (links: number, then: (k: number) => string, otherwise: string) =>
  `${Array.from({ length: links }, (_, k) => `if (i == ${k}u) { ${then(k)} }`).join(" else ")} ${otherwise}`;

describe("splits a chain", () => {
  it("with an end", () =>
    golden(
      "an end",
      `fn f(i: u32) -> u32 { var x = i; @diagnostic(off, derivative_uniformity) ${chain(34, (k) => `x += ${k}u;`, "else { x = 0u; }")} return x; }`,
      split,
    ));

  it("without an end, in a loop", () =>
    golden(
      "no end",
      `fn f(i: u32) -> u32 { var x = 0u; loop { ${chain(17, (k) => (k === 3 ? "continue;" : `x += ${k}u;`), "")} break; } return x; }`,
      split,
    ));

  it("whose first links all return", () =>
    golden(
      "links that return",
      `fn f(i: u32) -> u32 { ${chain(33, (k) => `return ${k}u;`, "else { return 1u; }")} }`,
      split,
    ));

  it("inside another", () =>
    golden(
      "a chain in a chain",
      `fn f(i: u32) -> u32 { var x = i; ${chain(17, (k) => (k === 0 ? chain(17, () => "x++;", "") : ""), "")} return x; }`,
      split,
    ));
});

it("leaves short chains alone", () => {
  const { before, after } = applySteps(
    `fn f(i: u32) -> u32 { ${chain(16, () => "return 1u;", "")} return 2u; }`,
    [split],
  );
  expect(after.module).toBe(before.module);
});
