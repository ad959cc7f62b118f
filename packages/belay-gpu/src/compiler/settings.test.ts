import { expect, it } from "vitest";
import { shown } from "../diagnostics/options.ts";
import type { ProtectOptions } from "./contract.ts";
import { protect } from "./protect.ts";
import { choices } from "./settings.ts";

const KERNEL = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { out[0] = 1u; }`;

it.each(Object.keys(choices))("refuses a value of %s that does not exist", (option) => {
  for (const value of ["other", "constructor", 3, null, option === "memory" ? 4n : {}])
    expect(() => protect(KERNEL, { [option]: value } as ProtectOptions)).toThrow(
      `the option ${option} cannot be ${shown(value)}: it is one of `,
    );
});

it("takes all that exist", () => {
  for (const [option, values] of Object.entries(choices))
    for (const value of values)
      expect(() =>
        protect(KERNEL, { [option]: value, features: ["subgroups"] } as ProtectOptions),
      ).not.toThrow();
});
