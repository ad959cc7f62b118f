/**
 * The discrete cosine transform (DCT-II, orthonormal) of each 8x8 block of an image: `A X Aᵀ`, two
 * small matrix products.
 *
 * Source: the sample DCT of the AMD APP SDK, as used by Wadden et al. 2014. Blocks have 8x8 floats,
 * and the intermediate product is in workgroup memory.
 *
 * Chosen here: eight blocks for each workgroup, and a row or column of a block for each invocation.
 * Values then pass workgroup memory once and not eight times. The coefficients of `A` are constants
 * of the kernel. Even cosines are symmetric and odd ones antisymmetric, which halves the products.
 */
import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomFloats, randomIntegers, sampleIndices } from "../random.ts";

const SIDE = 8;
const AREA = SIDE * SIDE;
const WORKGROUP = 64;
const BLOCKS = WORKGROUP / SIDE;

/** The cosines; row `k` holds the samples of cosine number `k`. */
const COSINES = Array.from({ length: SIDE }, (_, k) =>
  Array.from(
    { length: SIDE },
    (_, i) => Math.sqrt((k === 0 ? 1 : 2) / SIDE) * Math.cos(((2 * i + 1) * k * Math.PI) / (2 * SIDE)),
  ),
);

/**
 * Returns the first half of every other row of the matrix as a WGSL constant, which lists columns.
 */
function half(firstRow: number): string {
  const columns = [0, 1, 2, 3].map((column) =>
    [0, 2, 4, 6].map((row) => Math.fround(COSINES[firstRow + row]![column]!)).join(", "),
  );
  return `mat4x4f(\n  ${columns.join(",\n  ")},\n)`;
}

const DCT = /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;
const BLOCKS = ${BLOCKS}u;
const SIDE = ${SIDE}u;
/**
 * Nine words for a row of eight: neither rows nor columns of the blocks of 32 invocations meet in a
 * bank.
 */
const PITCH = SIDE + 1u;

const EVEN = ${half(0)};
const ODD = ${half(1)};

@group(0) @binding(0) var<uniform> blocksAcross: u32;
@group(0) @binding(1) var<storage, read> image: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> coefficients: array<f32>;

var<workgroup> rows: array<f32, WORKGROUP * PITCH>;

struct Line {
  low: vec4f,
  high: vec4f,
}

fn transform(line: Line) -> Line {
  let mirrored = line.high.wzyx;
  let even = EVEN * (line.low + mirrored);
  let odd = ODD * (line.low - mirrored);
  return Line(vec4f(even.x, odd.x, even.y, odd.y), vec4f(even.z, odd.z, even.w, odd.w));
}

fn keep(at: u32, values: vec4f) {
  rows[at] = values.x;
  rows[at + 1u] = values.y;
  rows[at + 2u] = values.z;
  rows[at + 3u] = values.w;
}

fn down(at: u32) -> vec4f {
  return vec4f(rows[at], rows[at + PITCH], rows[at + 2u * PITCH], rows[at + 3u * PITCH]);
}

fn store(at: u32, width: u32, values: vec4f) {
  coefficients[at] = values.x;
  coefficients[at + width] = values.y;
  coefficients[at + 2u * width] = values.z;
  coefficients[at + 3u * width] = values.w;
}

@compute @workgroup_size(WORKGROUP)
fn dct(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let block = (id.y * groups.x + id.x) * BLOCKS + local / SIDE;
  let line = local % SIDE;
  let top = block / blocksAcross * SIDE;
  let left = block % blocksAcross * SIDE;
  let width = blocksAcross * SIDE;
  let exists = block < arrayLength(&image) * 4u / (SIDE * SIDE);

  if (exists) {
    let at = ((top + line) * width + left) / 4u;
    let row = transform(Line(image[at], image[at + 1u]));
    keep(local * PITCH, row.low);
    keep(local * PITCH + 4u, row.high);
  }
  workgroupBarrier();

  if (exists) {
    let at = local / SIDE * SIDE * PITCH + line;
    let column = transform(Line(down(at), down(at + 4u * PITCH)));
    store(top * width + left + line, width, column.low);
    store((top + 4u) * width + left + line, width, column.high);
  }
}`;

/** The largest level of a gray image around zero, as JPEG shifts the levels. */
const MAGNITUDE = 127;
/**
 * The number of blocks that are compared element by element. If there are more, a seeded sample is
 * compared so, and all others by a weighted sum.
 */
const VERIFIED_BLOCKS = 2 ** 16;

export interface DctOptions {
  /** The width of the image in blocks. */
  readonly blocksAcross?: number;
  readonly blocksDown?: number;
  readonly seed?: number;
}

/** Creates the transform of an image; each block of coefficients takes the place of its samples. */
export function create(options: DctOptions = {}): VerifiableProgram<{ coefficients: Float32Array }> {
  const { blocksAcross = 16, blocksDown = blocksAcross, seed = 1 } = options;
  const blocks = blocksAcross * blocksDown;
  const image = randomIntegers(blocks * AREA, MAGNITUDE, seed);

  const prepare = (device: GPUDevice): Prepared<{ coefficients: Float32Array }> => {
    const shape = uploadBuffer(device, Uint32Array.of(blocksAcross), GPUBufferUsage.UNIFORM);
    const input = uploadBuffer(device, image);
    const coefficients = resultBuffer(device, image.byteLength);
    return prepareDispatch(device, DCT, {
      buffers: [shape, input, coefficients],
      grid: gridOf(Math.ceil(blocks / BLOCKS)),
      read: async () => ({ coefficients: new Float32Array(await readBuffers(device, coefficients)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ coefficients }) => verifyBlocks(image, coefficients, { blocksAcross, blocks }, seed + 1),
    kernelSources: { dct: DCT },
    // Two products, each with an addition, and four multiplications and three additions more for an
    // element.
    work: { bytes: 8 * image.length, flops: 2 * 8 * image.length },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * The tolerance of the comparison with f64. A sum of four products in f32 is off by at most six
 * roundings of the sum of magnitudes. They are those of the sum or difference of two samples, the
 * constant, the product and three sums. Two such sums follow each other. Rows of `A` have length
 * one, so their magnitudes sum to at most √8, and those of both products to 8·127.
 */
const TOLERANCE = 2 * 6 * 2 ** -24 * 8 * MAGNITUDE * 1.001;

/**
 * Verifies every block. If each coefficient of a block is within the tolerance, then so is their
 * weighted sum. The weighted sum equals a sum over the samples with transformed weights.
 */
function verifyBlocks(
  image: Float32Array,
  coefficients: Float32Array,
  { blocksAcross, blocks }: { blocksAcross: number; blocks: number },
  seed: number,
): Verdict {
  const width = blocksAcross * SIDE;
  const startOf = (block: number) => {
    const column = block % blocksAcross;
    return ((block - column) / blocksAcross) * SIDE * width + column * SIDE;
  };
  const verifyBlock = (block: number): Verdict | undefined => {
    const start = startOf(block);
    const samples = Float64Array.from({ length: AREA }, (_, i) => image[start + (i >> 3) * width + (i & 7)]!);
    const expected = product(product(matrix(COSINES), samples), transposed(matrix(COSINES)));
    for (let i = 0; i < AREA; i++) {
      const actual = coefficients[start + (i >> 3) * width + (i & 7)]!;
      if (!(Math.abs(actual - expected[i]!) <= TOLERANCE)) {
        const place = `coefficient ${i & 7}, ${i >> 3} of block ${block}`;
        return { ok: false, message: `${place} is ${actual} instead of ${expected[i]}` };
      }
    }
    return undefined;
  };

  for (const block of sampleIndices(blocks, VERIFIED_BLOCKS, seed)) {
    const wrong = verifyBlock(block);
    if (wrong) return wrong;
  }
  const weights = Float64Array.from(randomFloats(AREA, seed), (weight) => 1.5 + weight / 2);
  const sampleWeights = product(product(transposed(matrix(COSINES)), weights), matrix(COSINES));
  const tolerance = TOLERANCE * weights.reduce((sum, weight) => sum + weight);
  for (let block = 0; block < blocks; block++) {
    const start = startOf(block);
    let difference = 0;
    for (let i = 0; i < AREA; i++) {
      const at = start + (i >> 3) * width + (i & 7);
      difference += weights[i]! * coefficients[at]! - sampleWeights[i]! * image[at]!;
    }
    if (Math.abs(difference) <= tolerance) continue;
    const wrong = verifyBlock(block);
    if (wrong) return wrong;
  }
  return {
    ok: true,
    message: `the coefficients of ${blocks} blocks are within ${TOLERANCE.toExponential(1)}`,
  };
}

const matrix = (rows: readonly (readonly number[])[]): Float64Array => Float64Array.from(rows.flat());

const transposed = (a: Float64Array): Float64Array => a.map((_, i) => a[(i & 7) * SIDE + (i >> 3)]!);

function product(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((_, i) => {
    let sum = 0;
    for (let k = 0; k < SIDE; k++) sum += a[(i & 56) + k]! * b[k * SIDE + (i & 7)]!;
    return sum;
  });
}
