import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "./buffers.ts";
import { type Program, runOnce, type Verdict } from "./program.ts";
import { randomIntegers, randomWord } from "./random.ts";

/** Tiles of 16 x 16 elements through workgroup memory; each invocation computes two elements of a tile. */
const MULTIPLY = /* wgsl */ `
struct Shape {
  rows: u32,
  columns: u32,
  inner: u32,
}

const TILE = 16u;
const HALF = 8u;

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> product: array<f32>;

var<workgroup> aTile: array<array<f32, TILE>, TILE>;
var<workgroup> bTile: array<array<f32, TILE>, TILE>;

fn loadA(row: u32, column: u32) -> f32 {
  if (row < shape.rows && column < shape.inner) { return a[row * shape.inner + column]; }
  return 0.0;
}

fn loadB(row: u32, column: u32) -> f32 {
  if (row < shape.inner && column < shape.columns) { return b[row * shape.columns + column]; }
  return 0.0;
}

@compute @workgroup_size(TILE, HALF)
fn multiply(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let row = group.y * TILE + local.y;
  let column = group.x * TILE + local.x;
  var upper = 0.0;
  var lower = 0.0;

  for (var start = 0u; start < shape.inner; start += TILE) {
    aTile[local.y][local.x] = loadA(row, start + local.x);
    aTile[local.y + HALF][local.x] = loadA(row + HALF, start + local.x);
    bTile[local.y][local.x] = loadB(start + local.y, column);
    bTile[local.y + HALF][local.x] = loadB(start + local.y + HALF, column);
    workgroupBarrier();

    for (var k = 0u; k < TILE; k++) {
      upper += aTile[local.y][k] * bTile[k][local.x];
      lower += aTile[local.y + HALF][k] * bTile[k][local.x];
    }
    workgroupBarrier();
  }

  if (column < shape.columns) {
    if (row < shape.rows) { product[row * shape.columns + column] = upper; }
    if (row + HALF < shape.rows) { product[(row + HALF) * shape.columns + column] = lower; }
  }
}`;

const TILE = 16;

export interface MatrixProductOptions {
  readonly rows?: number;
  readonly columns?: number;
  readonly inner?: number;
  readonly seed?: number;
}

/**
 * The product of two f32 matrices. Their elements are whole numbers so small that every sum stays below 2^24:
 * f32 holds each intermediate exactly, fused or not, in any order, and the result can be checked exactly.
 */
export function create(options: MatrixProductOptions = {}): Program<{ product: Float32Array }> {
  const { rows = 128, columns = rows, inner = rows, seed = 1 } = options;
  const magnitude = Math.max(1, Math.min(15, Math.floor(Math.sqrt(2 ** 24 / inner))));
  const a = randomIntegers(rows * inner, magnitude, seed);
  const b = randomIntegers(inner * columns, magnitude, seed + 1);

  const prepare = (device: GPUDevice) => {
    const module = device.createShaderModule({ code: MULTIPLY });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const shape = uploadBuffer(device, new Uint32Array([rows, columns, inner]), GPUBufferUsage.UNIFORM);
    const left = uploadBuffer(device, a);
    const right = uploadBuffer(device, b);
    const product = resultBuffer(device, rows * columns * 4);
    const bindings = bindBuffers(device, pipeline, shape, left, right, product);
    return {
      encode(encoder: GPUCommandEncoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindings);
        pass.dispatchWorkgroups(Math.ceil(columns / TILE), Math.ceil(rows / TILE));
        pass.end();
      },
      read: async () => ({ product: new Float32Array(await readBuffers(device, product)) }),
      destroy() {
        for (const buffer of [shape, left, right, product]) buffer.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ product }) => verifyProduct(a, b, product, { rows, columns, inner, magnitude }, seed + 2),
    kernelSources: { multiply: MULTIPLY },
    work: {
      bytes: 4 * (rows * inner + inner * columns + rows * columns),
      flops: 2 * rows * columns * inner,
    },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Freivalds' check: A(Br) = (AB)r for a random vector r costs n² instead of n³. All numbers are whole and below
 * 2^53, so f64 compares them exactly: one wrong element is always found, several unless they happen to cancel.
 */
export function verifyProduct(
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
