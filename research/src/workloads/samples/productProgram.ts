import { readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomIntegers, randomWord } from "../random.ts";

/**
 * A kernel that multiplies two matrices. Its bindings are the shape, both factors and the product,
 * and each tile takes a workgroup.
 */
export interface Multiplication {
  readonly kernel: string;
  /** The number of rows, and of columns, that a workgroup computes. */
  readonly tile: number;
  /** The words of the kernel's uniform that describe the shape. */
  readonly shape: Uint32Array;
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  readonly seed: number;
}

/**
 * Creates a program that multiplies f32 matrices. Their elements are whole numbers so small that
 * every sum stays below 2^24. Then f32 holds each intermediate exactly, fused or not, in any order,
 * and the result can be checked exactly.
 */
export function productProgram({
  kernel,
  tile,
  shape,
  rows,
  columns,
  inner,
  seed,
}: Multiplication): VerifiableProgram<{ product: Float32Array }> {
  const magnitude = Math.max(1, Math.min(15, Math.floor(Math.sqrt(2 ** 24 / inner))));
  const a = randomIntegers(rows * inner, magnitude, seed);
  const b = randomIntegers(inner * columns, magnitude, seed + 1);

  const prepare = (device: GPUDevice): Prepared<{ product: Float32Array }> => {
    const uniforms = uploadBuffer(device, shape, GPUBufferUsage.UNIFORM);
    const [left, right] = [uploadBuffer(device, a), uploadBuffer(device, b)];
    const product = resultBuffer(device, rows * columns * 4);
    return prepareDispatch(device, kernel, {
      buffers: [uniforms, left, right, product],
      grid: [Math.ceil(columns / tile), Math.ceil(rows / tile)],
      read: async () => ({ product: new Float32Array(await readBuffers(device, product)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ product }) => verifyProduct(a, b, product, { rows, columns, inner, magnitude }, seed + 2),
    kernelSources: { multiply: kernel },
    work: {
      bytes: 4 * (rows * inner + inner * columns + rows * columns),
      flops: 2 * rows * columns * inner,
    },
  };
}

/**
 * Verifies by Freivalds' check: A(Br) = (AB)r for a random vector r costs n² instead of n³. All
 * numbers are whole and below 2^53, so f64 compares them exactly. The check always finds one wrong
 * element, and several unless they happen to cancel.
 */
function verifyProduct(
  a: Float32Array,
  b: Float32Array,
  product: Float32Array,
  { rows, columns, inner, magnitude }: { rows: number; columns: number; inner: number; magnitude: number },
  seed: number,
): Verdict {
  const largest = Math.min(2 ** 20, Math.floor(2 ** 53 / (columns * inner * magnitude ** 2)));
  const vector = Float64Array.from({ length: columns }, (_, i) => 1 + (randomWord(seed, i) % largest));
  const image = applyMatrix(b, vector, inner);
  const expected = applyMatrix(a, image, rows);
  const actual = applyMatrix(product, vector, rows);
  for (let row = 0; row < rows; row++) {
    if (actual[row] === expected[row]) continue;
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += a[row * inner + k]! * b[k * columns + column]!;
      const element = product[row * columns + column];
      if (element !== sum) {
        return { ok: false, message: `product[${row}][${column}] is ${element} instead of ${sum}` };
      }
    }
  }
  return { ok: true, message: `the product of ${rows}x${inner} and ${inner}x${columns} is exact` };
}

function applyMatrix(matrix: Float32Array, vector: Float64Array, rows: number): Float64Array {
  const image = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    let sum = 0;
    for (let k = 0; k < vector.length; k++) sum += matrix[row * vector.length + k]! * vector[k]!;
    image[row] = sum;
  }
  return image;
}
