import { expect, it } from "vitest";
import { applySteps, goldens } from "../../../../../test/support/wgsl/goldens.ts";
import { dropUnusedFunctions } from "./dropUnusedFunctions.ts";

const golden = goldens("dropUnusedFunctions");

it("keeps what an entry point of any stage reaches", () =>
  golden(
    "functions of three stages",
    `fn inner() -> f32 { return 1.0; }
    fn outer() -> f32 { return inner(); }
    fn corner() -> vec4f { return vec4f(); }
    fn unused() -> f32 { return alsoUnused(); }
    fn alsoUnused() -> f32 { return outer(); }
    var<private> kept: f32;
    @vertex fn vertices() -> @builtin(position) vec4f { return corner(); }
    @compute @workgroup_size(64) fn main() { kept = outer(); }
    @fragment fn fragments() {}`,
    dropUnusedFunctions,
  ));

it("leaves a module alone whose functions are all used", () => {
  const wgsl = "fn f() {} @compute @workgroup_size(64) fn main() { f(); }";
  const { before, after } = applySteps(wgsl, [dropUnusedFunctions]);
  expect(after.module).toBe(before.module);
});
