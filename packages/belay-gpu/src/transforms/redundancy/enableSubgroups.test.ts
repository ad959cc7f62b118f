import { expect, it } from "vitest";
import { goldens, typed } from "../../../../../test/support/wgsl/goldens.ts";
import { enableSubgroups } from "./enableSubgroups.ts";

const golden = goldens("enableSubgroups");

it("adds the extension and turns the uniformity rule off", () =>
  golden(
    "other directives",
    "enable f16; requires packed_4x8_integer_dot_product; fn f() {}",
    enableSubgroups,
  ));

it("replaces a setting of the rule and keeps others", () => {
  const program = typed(`
    enable f16, subgroups;
    diagnostic(error, subgroup_uniformity);
    diagnostic(warning, derivative_uniformity);
  `);
  const directives = enableSubgroups(program).directives.map((d) =>
    d.kind === "diagnostic" ? [d.severity, d.rule] : d.names,
  );
  expect(directives).toEqual([
    ["f16", "subgroups"],
    ["warning", "derivative_uniformity"],
    ["off", "subgroup_uniformity"],
  ]);
});
