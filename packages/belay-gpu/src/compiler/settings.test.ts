import { protectUncompared } from "belay-research/internal/bench/rmt/withoutComparison";
import { comparedSchemes } from "belay-research/internal/ecc/index";
import { expect, it } from "vitest";
import { shown } from "../diagnostics/options.ts";
import { memoryCodes, schemes } from "../ecc/scheme.ts";
import type { CompilerOptions } from "./contract.ts";
import { protect, protectInPasses } from "./protect.ts";
import { choices } from "./settings.ts";

const KERNEL = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { out[0] = 1u; }`;

it.each([...Object.keys(choices), "memory"])("refuses a value of %s that does not exist", (option) => {
  for (const value of ["other", "constructor", 3, null, option === "memory" ? 4n : {}])
    expect(() => protect(KERNEL, { [option]: value } as CompilerOptions)).toThrow(
      `the option ${option} cannot be ${shown(value)}: it is one of `,
    );
});

it("refuses a code of one binding that does not exist", () => {
  const of = { group: 0, binding: 0 };
  for (const memory of [
    { default: "none", bindings: [{ of, scheme: "other" }] },
    { default: "other", bindings: [] },
  ])
    expect(() => protect(KERNEL, { memory } as unknown as CompilerOptions)).toThrow(
      'the option memory cannot be "other": it is one of "none", "secded32"',
    );
});

it.each(Object.keys(comparedSchemes).filter((name) => !Object.hasOwn(schemes, name)))(
  "takes %s only where an experiment has it",
  (memory) => {
    const options = { memory, redundancy: "none" } as unknown as CompilerOptions;
    expect(() => protect(KERNEL, options)).toThrow(`the option memory cannot be "${memory}"`);
    const { result } = protectInPasses(KERNEL, options, { codes: comparedSchemes });
    expect(result.entryPoints[0]!.memory!.bindings).toMatchObject([{ scheme: memory }]);
  },
);

it("compares replicas whatever the options say, but for an experiment", () => {
  expect(() => protect(KERNEL, { check: "none" } as unknown as CompilerOptions)).toThrow(TypeError);
  expect(protect(KERNEL).checks).not.toEqual([]);
  expect(protectUncompared(KERNEL).checks).toEqual([]);
});

it("takes all that exist", () => {
  const memory = ["none", ...memoryCodes];
  for (const [option, values] of Object.entries({ ...choices, memory }))
    for (const value of values)
      expect(() =>
        protect(KERNEL, { [option]: value, features: ["subgroups"] } as CompilerOptions),
      ).not.toThrow();
});
