/**
 * The Sobol sequence, a quasi-random one: points that fill a cube evenly.
 *
 * Follows the sample QuasiRandomSequence of the AMD APP OpenCL SDK. Documented there: a workgroup
 * computes numbers of one dimension, and first copies that dimension's 32 direction vectors to
 * workgroup memory. Each number is the exclusive or of the vectors that the bits of its index
 * select. Four numbers make a vec4.
 *
 * Chosen here: sixteen dimensions, and sixteen vec4 for each invocation. All but the first come
 * from the one before by the bits in which their indices differ. Numbers are cut to 24 bits, which
 * f32 holds exactly. The direction vectors are the published ones of Joe and Kuo, "Constructing
 * Sobol sequences with better two-dimensional projections", 2008.
 */
import { readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";

const WORKGROUP = 128;
/** The number of vec4 that an invocation computes. */
const SERIAL = 16;
const BITS = 32;

const GENERATE = /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;
const SERIAL = ${SERIAL}u;
const BITS = ${BITS}u;

@group(0) @binding(0) var<uniform> quads: u32; // how many vec4 of each dimension
@group(0) @binding(1) var<storage, read> directions: array<array<u32, BITS>>;
@group(0) @binding(2) var<storage, read_write> sequence: array<vec4f>;

const LANE_BITS = ${2 + Math.log2(WORKGROUP)}u; // of an index: its place in the vec4, and the invocation
const SERIAL_BITS = ${Math.log2(SERIAL)}u;

var<workgroup> direction: array<u32, BITS>;
/** The change when the bits above the invocation's count up: the lowest n + 1 of them flip. */
var<workgroup> flips: array<u32, SERIAL_BITS + 1u>;

@compute @workgroup_size(WORKGROUP)
fn generate(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  if (local < BITS) { direction[local] = directions[group.y][local]; }
  if (local <= SERIAL_BITS) {
    var flip = 0u;
    for (var bit = 0u; bit <= local; bit++) { flip ^= directions[group.y][LANE_BITS + bit]; }
    flips[local] = flip;
  }
  workgroupBarrier();

  // The two lowest bits of an index are those of its place in the vec4.
  let inside = vec4u(0u, direction[0], direction[1], direction[0] ^ direction[1]);
  let first = group.x * SERIAL * WORKGROUP + local;
  var outside = 0u;
  for (var bit = 0u; first >> bit != 0u; bit++) {
    outside ^= select(0u, direction[bit + 2u], ((first >> bit) & 1u) != 0u);
  }
  for (var i = 0u; i < SERIAL; i++) {
    let quad = first + i * WORKGROUP;
    if (quad >= quads) { break; }
    sequence[group.y * quads + quad] = vec4f((inside ^ vec4u(outside)) >> vec4u(8u)) * 0x1p-24;
    outside ^= flips[countTrailingZeros(i + 1u)];
  }
}`;

/**
 * The polynomials of each dimension but the first. An entry is the degree of a primitive polynomial
 * over GF(2), its inner coefficients as bits, and the first direction numbers. Data of Joe and Kuo,
 * file new-joe-kuo-6.
 */
const POLYNOMIALS: readonly (readonly [degree: number, coefficients: number, first: readonly number[]])[] = [
  [1, 0, [1]],
  [2, 1, [1, 3]],
  [3, 1, [1, 3, 1]],
  [3, 2, [1, 1, 1]],
  [4, 1, [1, 1, 3, 3]],
  [4, 4, [1, 3, 5, 13]],
  [5, 2, [1, 1, 5, 5, 17]],
  [5, 4, [1, 1, 5, 5, 5]],
  [5, 7, [1, 1, 7, 11, 19]],
  [5, 11, [1, 1, 5, 1, 1]],
  [5, 13, [1, 1, 1, 3, 11]],
  [5, 14, [1, 3, 5, 5, 31]],
  [6, 1, [1, 3, 3, 9, 7, 49]],
  [6, 13, [1, 1, 1, 15, 21, 21]],
  [6, 16, [1, 3, 1, 13, 27, 49]],
];
const DIMENSIONS = POLYNOMIALS.length + 1;

export interface QuasiRandomSequenceOptions {
  /** The number of points of each dimension, at most 2^24, rounded up to a multiple of four. */
  readonly points?: number;
}

/** Creates sixteen dimensions, one after the other, of numbers in [0, 1). */
export function create({ points = 3000 }: QuasiRandomSequenceOptions = {}): VerifiableProgram<{
  sequence: Float32Array;
}> {
  const quads = Math.ceil(points / 4);
  const directions = Array.from({ length: DIMENSIONS }, (_, dimension) => directionVectors(dimension));

  const prepare = (device: GPUDevice): Prepared<{ sequence: Float32Array }> => {
    const count = uploadBuffer(device, Uint32Array.of(quads), GPUBufferUsage.UNIFORM);
    const vectors = uploadBuffer(device, Uint32Array.from(directions.flatMap((each) => [...each])));
    const sequence = resultBuffer(device, 16 * quads * DIMENSIONS);
    return prepareDispatch(device, GENERATE, {
      buffers: [count, vectors, sequence],
      grid: [Math.ceil(quads / (WORKGROUP * SERIAL)), DIMENSIONS],
      read: async () => ({ sequence: new Float32Array(await readBuffers(device, sequence)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ sequence }) => verifySequence(directions, sequence, 4 * quads),
    kernelSources: { generate: GENERATE },
    work: { bytes: DIMENSIONS * (16 * quads + 4 * BITS), flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Computes direction vectors by the recurrence of Sobol, over whole vectors: one for each bit of an
 * index, the lowest bit's first.
 */
function directionVectors(dimension: number): Uint32Array {
  if (dimension === 0) return Uint32Array.from({ length: BITS }, (_, bit) => 2 ** (31 - bit));
  const [degree, coefficients, first] = POLYNOMIALS[dimension - 1]!;
  const vectors = new Uint32Array(BITS);
  for (let bit = 0; bit < BITS; bit++) {
    if (bit < degree) {
      vectors[bit] = first[bit]! << (31 - bit);
      continue;
    }
    vectors[bit] = vectors[bit - degree]! ^ (vectors[bit - degree]! >>> degree);
    for (let k = 1; k < degree; k++) {
      if ((coefficients >> (degree - 1 - k)) & 1) vectors[bit]! ^= vectors[bit - k]!;
    }
  }
  return vectors;
}

/**
 * Compares every number exactly with one computed from its predecessor: adding 1 to an index flips
 * its low bits.
 */
function verifySequence(directions: readonly Uint32Array[], sequence: Float32Array, points: number): Verdict {
  if (sequence.length !== points * directions.length) {
    return {
      ok: false,
      message: `the sequence is ${sequence.length} numbers long instead of ${points * directions.length}`,
    };
  }
  for (const [dimension, vectors] of directions.entries()) {
    let vector = 0;
    const flips = vectors.slice();
    for (let bit = 1; bit < BITS; bit++) flips[bit]! ^= flips[bit - 1]!;
    for (let i = 0; i < points; i++) {
      const actual = sequence[dimension * points + i];
      const expected = (vector >>> 8) / 2 ** 24;
      if (actual !== expected) {
        return {
          ok: false,
          message: `number ${i} of dimension ${dimension} is ${actual} instead of ${expected}`,
        };
      }
      vector ^= flips[31 - Math.clz32(~i & (i + 1))]!;
    }
  }
  return { ok: true, message: `all ${sequence.length} numbers of the sequence are exact` };
}
