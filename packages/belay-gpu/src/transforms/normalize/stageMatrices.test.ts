import { expect, it } from "vitest";
import { applySteps, goldens, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { normalizeAccesses } from "./normalizeAccesses.ts";
import { stageMatrices } from "./stageMatrices.ts";

const golden = goldens("stageMatrices");
const stage: Step = (program, names) =>
  stageMatrices(program, names, { turns: 2, kernels: new Set(["main"]) });
Object.defineProperty(stage, "name", { value: "stageMatrices" });

const memory = `enable chromium_experimental_subgroup_matrix;
  @group(0) @binding(0) var<storage, read> a: array<f32>;
  @group(0) @binding(1) var<storage, read_write> c: array<f32>;
  @group(0) @binding(2) var<storage, read_write> bytes: array<u32>;`;
const main = (body: string) => `${memory} @compute @workgroup_size(64) fn main() { ${body} }`;
const result = "subgroup_matrix_result<f32, 8, 8>";

it("stores the numbers of a matrix in turns, and loads from buffers that change alike", () =>
  golden(
    "a product in place",
    main(`let left = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>>(&a, 0, false, 8);
      let sum = subgroupMatrixLoad<${result}, col_major>(&c, 64, 16);
      subgroupMatrixStore(&c, 64, subgroupMatrixMultiplyAccumulate(left, subgroup_matrix_right<f32, 8, 8>(), sum), true, 16);`),
    normalizeAccesses,
    stage,
  ));

it("packs several numbers into an element of the array", () =>
  golden(
    "bytes",
    main("subgroupMatrixStore<row_major>(&bytes, 0, subgroup_matrix_result<u8, 16, 8>(), 32);"),
    normalizeAccesses,
    stage,
  ));

it("turns an array of vectors into one of words, with the padding of vectors of three", () =>
  golden(
    "an array of vectors",
    `enable chromium_experimental_subgroup_matrix, f16;
      @group(0) @binding(0) var<storage, read_write> c: array<vec3f>;
      @group(0) @binding(1) var<storage, read_write> halves: array<vec3h, 64>;
      @compute @workgroup_size(64) fn main() {
        subgroupMatrixStore<row_major>(&c, 5, ${result}(), arrayLength(&c) / 8);
        subgroupMatrixStore<col_major>(&halves, 0, subgroup_matrix_left<f16, 8, 8>(), 4);
      }`,
    normalizeAccesses,
    stage,
  ));

it("leaves matrices in workgroup memory and functions of other kernels alone", () => {
  const wgsl = `${memory} var<workgroup> tile: array<f32, 64>;
    @compute @workgroup_size(64) fn main() { subgroupMatrixStore(&tile, 0, ${result}(), false, 8); c[0] = tile[1]; }
    @compute @workgroup_size(64) fn other() { subgroupMatrixStore(&c, 0, ${result}(), false, 8); }`;
  const { before, after } = applySteps(wgsl, [normalizeAccesses, stage]);
  expect(after.module.declarations).toEqual(before.module.declarations);
});
