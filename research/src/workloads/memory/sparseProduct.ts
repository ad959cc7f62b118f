import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomBelow, randomIntegers } from "../random.ts";

/** The number of lanes that share a row, and the number of rows of a workgroup. */
const LANES = 8;
const ROWS = 16;

/**
 * The vector kernel of Bell and Garland, "Implementing sparse matrix-vector multiplication on
 * throughput-oriented processors", SC 2009, with eight lanes for each row.
 */
const MULTIPLY = /* wgsl */ `
const LANES = ${LANES}u;
const ROWS = ${ROWS}u;

@group(0) @binding(0) var<storage, read> starts: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> elements: array<f32>;
@group(0) @binding(3) var<storage, read> factor: array<f32>;
@group(0) @binding(4) var<storage, read_write> product: array<f32>;

var<workgroup> sums: array<f32, ROWS * LANES>;

@compute @workgroup_size(ROWS * LANES)
fn multiply(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let lane = local % LANES;
  let row = (id.y * groups.x + id.x) * ROWS + local / LANES;
  var sum = 0.0;
  if (row < arrayLength(&product)) {
    let end = starts[row + 1u];
    for (var i = starts[row] + lane; i < end; i += LANES) { sum += elements[i] * factor[columns[i]]; }
  }
  sums[local] = sum;
  workgroupBarrier();
  for (var width = LANES / 2u; width > 0u; width /= 2u) {
    if (lane < width) { sums[local] += sums[local + width]; }
    workgroupBarrier();
  }
  if (lane == 0u && row < arrayLength(&product)) { product[row] = sums[local]; }
}`;

export interface SparseProductOptions {
  readonly rows?: number;
  /**
   * The average number of nonzero elements of a row. A row has between half and one and a half
   * times as many.
   */
  readonly perRow?: number;
  /**
   * The places of the nonzero elements: anywhere in the row, or within a band around the diagonal.
   * Default `"random"`.
   */
  readonly structure?: "random" | "banded";
}

interface Matrix {
  readonly starts: Uint32Array<ArrayBuffer>;
  readonly columns: Uint32Array<ArrayBuffer>;
  readonly elements: Float32Array<ArrayBuffer>;
}

/**
 * Creates the product of a square matrix in compressed rows and a vector. All numbers are small and
 * whole, so that sums are exact in any order.
 */
export function create(options: SparseProductOptions = {}): VerifiableProgram<{ product: Float32Array }> {
  const { rows = 256, perRow = 24, structure = "random" } = options;
  const matrix = createMatrix(rows, perRow, structure, 1);
  const factor = randomIntegers(rows, 15, 4);

  const prepare = (device: GPUDevice): Prepared<{ product: Float32Array }> => {
    const inputs = [matrix.starts, matrix.columns, matrix.elements, factor].map((data) =>
      uploadBuffer(device, data),
    );
    const product = resultBuffer(device, 4 * rows);
    return prepareDispatch(device, MULTIPLY, {
      buffers: [...inputs, product],
      grid: gridOf(Math.ceil(rows / ROWS)),
      read: async () => ({ product: new Float32Array(await readBuffers(device, product)) }),
    });
  };

  const { length } = matrix.columns;
  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ product }) => verifyExact("product", product, multiply(matrix, factor)),
    kernelSources: { multiply: MULTIPLY },
    work: { bytes: 8 * length + 4 * (rows + 1) + 8 * rows, flops: 2 * length },
  };
}

export default (device: GPUDevice) => create().workload(device);

function createMatrix(rows: number, perRow: number, structure: "random" | "banded", seed: number): Matrix {
  const starts = new Uint32Array(rows + 1);
  for (let row = 0; row < rows; row++) {
    starts[row + 1] = starts[row]! + Math.ceil(perRow / 2) + randomBelow(perRow, seed, row);
  }
  const count = starts[rows]!;
  const columns = new Uint32Array(count);
  for (let row = 0; row < rows; row++) {
    const begin = starts[row]!;
    const width = starts[row + 1]! - begin;
    const first = Math.max(0, Math.min(row - (width >> 1), rows - width));
    for (let i = 0; i < width; i++) {
      columns[begin + i] =
        structure === "banded" ? Math.min(first + i, rows - 1) : randomBelow(rows, seed + 1, begin + i);
    }
  }
  return { starts, columns, elements: randomIntegers(count, 15, seed + 2) };
}

function multiply({ starts, columns, elements }: Matrix, factor: Float32Array): Float32Array {
  const product = new Float32Array(starts.length - 1);
  for (let row = 0; row < product.length; row++) {
    let sum = 0;
    for (let i = starts[row]!; i < starts[row + 1]!; i++) sum += elements[i]! * factor[columns[i]!]!;
    product[row] = sum;
  }
  return product;
}
