import { expect, it } from "vitest";
import { createReference, createReferenceBuffer } from "./index.ts";
import { nearestArithmetic } from "./nearest.ts";
import { referenceOf, resolveKernel } from "./referenceKernel.ts";
import { subgroupMatrices } from "./subgroupMatrices.ts";

const extensions = "enable f16; enable subgroups; enable chromium_experimental_subgroup_matrix;";

const executed = (source: string) =>
  referenceOf(resolveKernel({ source }), { nearest: nearestArithmetic, matrices: subgroupMatrices });

const source = `${extensions}
    alias Left = subgroup_matrix_left<f32, 2, 3>; alias Right = subgroup_matrix_right<f32, 4, 2>;
    alias Sums = subgroup_matrix_result<f32, 4, 3>;
    @group(0) @binding(0) var<storage, read> a: array<f32>; // 3 rows of 2
    @group(0) @binding(1) var<storage, read> b: array<f32>; // 4 columns of 2
    @group(0) @binding(2) var<storage, read_write> c: array<f32>; // 3 rows of 5 for each subgroup
    var<workgroup> tile: array<f32, 8>;
    fn plus(sums: Sums, by: f32) -> Sums { return subgroupMatrixScalarAdd(sums, by); }
    @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_id) id: u32) {
      tile[i] = b[i];
      workgroupBarrier();
      let left = subgroupMatrixLoad<Left, row_major>(&a, 0u, 2u);
      let right = subgroupMatrixLoad<Right, col_major>(&tile, 0u, 2u);
      var both: array<Sums, 2>;
      both[0] = subgroupMatrixMultiplyAccumulate(left, right, Sums(f32(id)));
      both[1] = subgroupMatrixScalarMultiply(subgroupMatrixMultiply<f32>(left, right), 2.0);
      subgroupMatrixStore<row_major>(&c, 15u * id, plus(both[id], 100.0), 5u);
    }`;

it("multiplies subgroup matrices, which all invocations of a subgroup hold together", () => {
  const a = [1, 2, 3, 4, 5, 6];
  const b = [1, -1, 2, 0, 3, 5, -2, 7];
  const buffers = [a, b, Array(30).fill(-1)].map((numbers, binding) => ({
    group: 0,
    binding,
    buffer: createReferenceBuffer(Float32Array.from(numbers)),
  }));
  const made = executed(source);
  if ("construct" in made) throw new Error(made.construct);
  expect(made.run({ workgroups: [1, 1, 1], buffers, subgroupSize: 4 })).toEqual({});
  const product = [0, 1, 2].map((row) =>
    [0, 1, 2, 3].map((column) => a[2 * row]! * b[2 * column]! + a[2 * row + 1]! * b[2 * column + 1]!),
  );
  const rows = [0, 1].flatMap((id) =>
    product.flatMap((row) => [...row.map((x) => (id === 0 ? x + 100 : 2 * x + 100)), -1]),
  );
  expect([...new Float32Array(buffers[2]!.buffer.bytes.buffer)]).toEqual(rows);
});

it.each([
  ["packed numbers", "array<u32>", "i8", "subgroupMatrixLoad of packed numbers"],
  ["integers", "array<i32>", "i32", "subgroupMatrixMultiply of integers"],
])("does not execute products of %s", (_, array, component, construct) => {
  const matrix = (side: string) => `subgroup_matrix_${side}<${component}, 8, 8>`;
  const result = component.startsWith("i") ? "i32" : component;
  const kernel = `${extensions}
    @group(0) @binding(0) var<storage, read> a: ${array};
    @group(0) @binding(1) var<storage, read_write> c: array<${result}>;
    @compute @workgroup_size(32) fn main() {
      let left = subgroupMatrixLoad<${matrix("left")}, row_major>(&a, 0u, 8u);
      let right = subgroupMatrixLoad<${matrix("right")}, row_major>(&a, 0u, 8u);
      subgroupMatrixStore<row_major>(&c, 0u, subgroupMatrixMultiply<${result}>(left, right), 8u);
    }`;
  expect(executed(kernel)).toMatchObject({ construct });
});

it("is no part of the executor of intervals, as nobody knows those of sums in matrix units", () => {
  const construct = expect.stringMatching(/^subgroup_?[mM]atrix/);
  expect(createReference({ source })).toMatchObject({ construct });
  const filled = `${extensions} @compute @workgroup_size(32) fn main() { _ = subgroup_matrix_left<f32, 8, 8>(); }`;
  expect(createReference({ source: filled })).toMatchObject({ construct });
});
