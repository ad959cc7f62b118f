/**
 * Convolves an image with a small mask that does not separate.
 *
 * Follows the sample SimpleConvolution of the AMD APP OpenCL SDK. Documented there: a work-item
 * adds up the products of the mask with the neighborhood of a pixel, over an input with a border
 * around it.
 *
 * Chosen here: a mask of 5 x 5 different weights, and zeros as the border. Each invocation computes
 * four rows of a vec4, which share its loads.
 */
import { readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomIntegers, randomWord } from "../random.ts";

const WIDTH = 16;
const HEIGHT = 8;
const SIDE = 5;
const RADIUS = 2;
/**
 * The rows, one below the other, that an invocation computes. The kernel writes them out, as an
 * array of sums might not stay in registers.
 */
const ROWS = Array.from({ length: 4 }, (_, row) => row);

/**
 * Returns an invocation's code for one line of the image: each row that the line belongs to weighs
 * it.
 */
const addLine = (line: number) => `
  let line${line} = load(id.x, top + ${line}u);
  ${ROWS.filter((row) => row <= line && line < row + SIDE)
    .map((row) => `sum${row} += weigh(line${line}, mask[${line - row}]);`)
    .join("\n  ")}`;

const CONVOLVE = /* wgsl */ `
const SIDE = ${SIDE}u;

struct MaskRow {
  inner: vec4f,
  last: f32,
}

@group(0) @binding(0) var<uniform> size: vec2u; // of the result, in vec4 and rows
@group(0) @binding(1) var<uniform> mask: array<MaskRow, SIDE>;
@group(0) @binding(2) var<storage, read> image: array<vec4f>; // with a border of one vec4 and two rows
@group(0) @binding(3) var<storage, read_write> convolved: array<vec4f>;

struct Line {
  left: vec4f,
  here: vec4f,
  right: vec4f,
}

fn load(x: u32, y: u32) -> Line {
  let at = y * (size.x + 2u) + x;
  return Line(image[at], image[at + 1u], image[at + 2u]);
}

fn weigh(line: Line, weights: MaskRow) -> vec4f {
  let here = line.here;
  return weights.inner.x * vec4f(line.left.zw, here.xy)
    + weights.inner.y * vec4f(line.left.w, here.xyz)
    + weights.inner.z * here
    + weights.inner.w * vec4f(here.yzw, line.right.x)
    + weights.last * vec4f(here.zw, line.right.xy);
}

@compute @workgroup_size(${WIDTH}, ${HEIGHT})
fn convolve(@builtin(global_invocation_id) id: vec3u) {
  let top = ${ROWS.length}u * id.y;
  if (id.x >= size.x || top >= size.y) { return; }
  ${ROWS.map((row) => `var sum${row} = vec4f();`).join("\n  ")}
  ${Array.from({ length: ROWS.length + SIDE - 1 }, (_, line) => addLine(line)).join("")}

  ${ROWS.map((row) => `if (top + ${row}u < size.y) { convolved[(top + ${row}u) * size.x + id.x] = sum${row}; }`).join("\n  ")}
}`;

export interface SimpleConvolutionOptions {
  /** The width of the image, rounded up to a multiple of four. */
  readonly width?: number;
  readonly height?: number;
  readonly seed?: number;
}

/**
 * Creates the convolution of an f32 image. Its whole numbers are so small that every sum is exact,
 * fused or not, in any order.
 */
export function create(
  options: SimpleConvolutionOptions = {},
): VerifiableProgram<{ convolved: Float32Array }> {
  const { width = 200, height = width, seed = 1 } = options;
  const quads = Math.ceil(width / 4);
  const image = borderedImage(4 * quads, height, seed);
  const mask = randomIntegers(SIDE * SIDE, 8, seed + 1);

  const prepare = (device: GPUDevice): Prepared<{ convolved: Float32Array }> => {
    const size = uploadBuffer(device, Uint32Array.of(quads, height), GPUBufferUsage.UNIFORM);
    const weights = uploadBuffer(device, maskRows(mask), GPUBufferUsage.UNIFORM);
    const input = uploadBuffer(device, image);
    const convolved = resultBuffer(device, 16 * quads * height);
    return prepareDispatch(device, CONVOLVE, {
      buffers: [size, weights, input, convolved],
      grid: [Math.ceil(quads / WIDTH), Math.ceil(height / (HEIGHT * ROWS.length))],
      read: async () => ({ convolved: new Float32Array(await readBuffers(device, convolved)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ convolved }) =>
      verifyConvolution(image, mask, convolved, { width: 4 * quads, height }, seed + 2),
    kernelSources: { convolve: CONVOLVE },
    work: { bytes: image.byteLength + 16 * quads * height, flops: 2 * SIDE * SIDE * 4 * quads * height },
  };
}

export default (device: GPUDevice) => create().workload(device);

/** The number of columns of the border on each side: one vec4. */
const BORDER = 4;

function borderedImage(width: number, height: number, seed: number): Float32Array<ArrayBuffer> {
  const stride = width + 2 * BORDER;
  const image = new Float32Array(stride * (height + 2 * RADIUS));
  for (let y = 0; y < height; y++) {
    const start = (y + RADIUS) * stride + BORDER;
    for (let x = 0; x < width; x++) image[start + x] = randomWord(seed, y * width + x) & 255;
  }
  return image;
}

/** Returns the mask in the layout of the uniform: eight words for each row. */
function maskRows(mask: Float32Array): Float32Array {
  const rows = new Float32Array(8 * SIDE);
  for (let row = 0; row < SIDE; row++) rows.set(mask.subarray(row * SIDE, (row + 1) * SIDE), 8 * row);
  return rows;
}

/**
 * Checks every row by a weighted sum. With r for the weights of its columns, Σ r·(mask ∗ image) = Σ
 * (mask ⋆ r)·image. The right side costs SIDE instead of SIDE² products for each pixel. All numbers
 * are whole and below 2^53, so f64 compares them exactly. The check always finds one wrong element
 * in a row, and several unless they happen to cancel.
 */
function verifyConvolution(
  image: Float32Array,
  mask: Float32Array,
  convolved: Float32Array,
  { width, height }: { width: number; height: number },
  seed: number,
): Verdict {
  const stride = width + 2 * BORDER;
  const columns = Float64Array.from({ length: width }, (_, x) => 1 + (randomWord(seed, x) & 0xfffff));
  const correlations = Array.from({ length: SIDE }, (_, row) => {
    const weights = new Float64Array(stride);
    for (let x = 0; x < width; x++) {
      for (let tap = 0; tap < SIDE; tap++) {
        weights[x + BORDER - RADIUS + tap]! += mask[row * SIDE + tap]! * columns[x]!;
      }
    }
    return weights;
  });
  for (let y = 0; y < height; y++) {
    let expected = 0;
    for (let row = 0; row < SIDE; row++) {
      expected += dotProduct(correlations[row]!, image, (y + row) * stride);
    }
    if (dotProduct(columns, convolved, y * width) === expected) continue;
    for (let x = 0; x < width; x++) {
      let sum = 0;
      for (let i = 0; i < SIDE * SIDE; i++) {
        const [row, tap] = [Math.floor(i / SIDE), i % SIDE];
        sum += mask[i]! * image[(y + row) * stride + x + BORDER - RADIUS + tap]!;
      }
      const pixel = convolved[y * width + x];
      if (pixel !== sum)
        return { ok: false, message: `the pixel at ${x}, ${y} is ${pixel} instead of ${sum}` };
    }
  }
  return { ok: true, message: `the convolution of ${width} x ${height} pixels is exact` };
}

/** Returns the sum of the weights times as many elements from `start` on. */
function dotProduct(weights: Float64Array, elements: Float32Array, start: number): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += weights[i]! * elements[start + i]!;
  return sum;
}
