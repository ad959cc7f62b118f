import { expect, it } from "vitest";
import { applySteps } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../../analysis/callGraph.ts";
import { dropUnusedFunctions } from "./dropUnusedFunctions.ts";

it("keeps what an entry point of any stage reaches, and all that is no function", () => {
  const wgsl = `fn inner() -> f32 { return 1.0; }
    fn outer() -> f32 { return inner(); }
    fn corner() -> vec4f { return vec4f(); }
    fn unused() -> f32 { return alsoUnused(); }
    fn alsoUnused() -> f32 { return outer(); }
    var<private> kept: f32;
    const three = 3;
    @vertex fn vertices() -> @builtin(position) vec4f { return corner(); }
    @compute @workgroup_size(64) fn main() { kept = outer(); }
    @fragment fn fragments() {}`;
  const { before, after } = applySteps(wgsl, [dropUnusedFunctions]);
  const names = functionsOf(after).map(({ name }) => name);
  expect(names).toEqual(["inner", "outer", "corner", "vertices", "main", "fragments"]);
  expect(after.module.declarations).toHaveLength(before.module.declarations.length - 2);
});

it("leaves a module alone whose functions are all used", () => {
  const wgsl = "fn f() {} @compute @workgroup_size(64) fn main() { f(); }";
  const { before, after } = applySteps(wgsl, [dropUnusedFunctions]);
  expect(after.module).toBe(before.module);
});
