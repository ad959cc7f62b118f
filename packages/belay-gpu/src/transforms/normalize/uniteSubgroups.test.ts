import { expect, it } from "vitest";
import { applySteps, goldens, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { normalizeAccesses } from "./normalizeAccesses.ts";
import { stageMatrices } from "./stageMatrices.ts";
import { uniteSubgroups } from "./uniteSubgroups.ts";

const golden = goldens("uniteSubgroups");
const kernels = new Set(["main"]);
const stage: Step = (program, names) => stageMatrices(program, names, { turns: 2, kernels });
const unite: Step = (program) => uniteSubgroups(program, kernels);
Object.defineProperty(stage, "name", { value: "stageMatrices" });
Object.defineProperty(unite, "name", { value: "uniteSubgroups" });

const left = "subgroup_matrix_left<f32, 8, 8>";
const right = "subgroup_matrix_right<f32, 8, 8>";
const result = "subgroup_matrix_result<f32, 8, 8>";
const memory = `enable chromium_experimental_subgroup_matrix;
  @group(0) @binding(0) var<storage, read> a: array<f32>;
  @group(0) @binding(1) var<storage, read_write> c: array<f32>;
  var<workgroup> tile: array<f32, 64>;`;

it("lets a subgroup decide as a whole on loops, branches and places of matrices", () =>
  golden(
    "loops and branches",
    `${memory}
      fn load(at: u32) -> ${left} { return subgroupMatrixLoad<${left}>(&a, at, false, 8); }
      @compute @workgroup_size(64) fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) i: u32) {
        var sum: ${result};
        for (var k = group.x; k < group.y; k++) {
          if (k == group.z) { continue; }
          sum = subgroupMatrixMultiplyAccumulate(load(k), ${right}(), sum);
        }
        loop {
          if (i > 3u) { break; }
        }
        subgroupMatrixStore(&c, 0, sum, false, 8);
      }`,
    normalizeAccesses,
    stage,
    unite,
  ));

it("keeps conditions that barriers depend on", () => {
  const wgsl = `${memory} @group(0) @binding(2) var<uniform> steps: u32;
    @compute @workgroup_size(64) fn main() {
      for (var k = 0u; k < steps; k++) { subgroupMatrixStore(&tile, 0, ${result}(), false, 8); workgroupBarrier(); }
    }`;
  const { before, after } = applySteps(wgsl, [normalizeAccesses, stage, unite]);
  expect(after.module.declarations).toEqual(before.module.declarations);
});
