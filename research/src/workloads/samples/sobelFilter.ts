import { readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomWords, sampleIndices } from "../random.ts";

const WIDTH = 32;
const HEIGHT = 4;
/** The number of rows of four pixels, one below the other, that an invocation computes. */
const SERIAL = 16;

/**
 * The kernel that computes the strength of edges for each of four 8-bit channels; the border
 * continues outwards. Two channels share a word while numbers are whole. Their bits turn into
 * floating-point numbers and back into bytes without conversions, which are slow on GPUs.
 */
const SOBEL = /* wgsl */ `
const SERIAL = ${SERIAL}u;
/** The last bits of a whole number below 2^23 and of 2^23 plus that number are the same. */
const WHOLE = 0x4b000000u;

@group(0) @binding(0) var<uniform> size: vec2u; // in vectors and rows
@group(0) @binding(1) var<storage, read> image: array<vec4u>; // rgba8unorm
@group(0) @binding(2) var<storage, read_write> edges: array<vec4u>;

/** Of four pixels, for two channels, a number in each half of a word. */
struct Halves {
  difference: vec4u, // of the right and the left pixel, and 255
  sum: vec4u, // of the left, twice the middle and the right pixel
}

struct Row {
  even: Halves, // channels 0 and 2
  odd: Halves, // channels 1 and 3
}

fn halves(left: u32, here: vec4u, right: u32) -> Halves {
  let lefts = vec4u(left, here.xyz);
  let rights = vec4u(here.yzw, right);
  return Halves(rights + vec4u(0x00ff00ffu) - lefts, lefts + 2u * here + rights);
}

fn row(x: u32, y: u32) -> Row {
  let at = y * size.x + x;
  let here = image[at];
  var left = here.x;
  if (x > 0u) { left = image[at - 1u].w; }
  var right = here.w;
  if (x + 1u < size.x) { right = image[at + 1u].x; }
  const EVEN = 0x00ff00ffu;
  return Row(
    halves(left & EVEN, here & vec4u(EVEN), right & EVEN),
    halves((left >> 8u) & EVEN, (here >> vec4u(8u)) & vec4u(EVEN), (right >> 8u) & EVEN),
  );
}

/** Less 4 * 255, exactly. */
fn centered(numbers: vec4u) -> vec4f {
  return bitcast<vec4f>(numbers | vec4u(WHOLE)) - (0x1p23 + 1020.0);
}

/** One channel of four pixels: a byte, and what is above it in \`WHOLE\`. */
fn strength(across: vec4u, down: vec4u) -> vec4u {
  let a = centered(across);
  let d = centered(down);
  return bitcast<vec4u>(min(sqrt(a * a + d * d) / 2.0, vec4f(255.0)) + 0x1p23);
}

/** Two channels of four pixels: the second two bytes above the first. */
fn strengths(upper: Halves, middle: Halves, lower: Halves) -> vec4u {
  let across = upper.difference + 2u * middle.difference + lower.difference;
  let down = lower.sum + vec4u(4u * 0x00ff00ffu) - upper.sum;
  let first = strength(across & vec4u(0xffffu), down & vec4u(0xffffu));
  let second = strength(across >> vec4u(16u), down >> vec4u(16u));
  return (first & vec4u(0xffu)) | (second << vec4u(16u));
}

@compute @workgroup_size(${WIDTH}, ${HEIGHT})
fn sobel(@builtin(global_invocation_id) id: vec3u) {
  let start = id.y * SERIAL;
  if (id.x >= size.x || start >= size.y) { return; }
  var upper = row(id.x, max(start, 1u) - 1u);
  var middle = row(id.x, start);
  for (var y = start; y < min(start + SERIAL, size.y); y++) {
    let lower = row(id.x, min(y + 1u, size.y - 1u));
    let even = strengths(upper.even, middle.even, lower.even);
    let odd = strengths(upper.odd, middle.odd, lower.odd);
    edges[y * size.x + id.x] = even | (odd << vec4u(8u));
    upper = middle;
    middle = lower;
  }
}`;

/** The number of pixels beyond which a seeded sample is compared with the reference. */
const VERIFIED_PIXELS = 2 ** 22;

export interface SobelFilterOptions {
  /** The width of the image, rounded up to a multiple of four. */
  readonly width?: number;
  readonly height?: number;
  readonly seed?: number;
}

/** Creates a program that finds edges in an RGBA image, which a storage buffer holds. */
export function create(options: SobelFilterOptions = {}): VerifiableProgram<{ edges: Uint32Array }> {
  const { width: asked = 255, height = asked, seed = 1 } = options;
  const quads = Math.ceil(asked / 4);
  const width = 4 * quads;
  const image = randomWords(width * height, seed);

  const prepare = (device: GPUDevice): Prepared<{ edges: Uint32Array }> => {
    const size = uploadBuffer(device, Uint32Array.of(quads, height), GPUBufferUsage.UNIFORM);
    const input = uploadBuffer(device, image);
    const edges = resultBuffer(device, image.byteLength);
    return prepareDispatch(device, SOBEL, {
      buffers: [size, input, edges],
      grid: [Math.ceil(quads / WIDTH), Math.ceil(height / (HEIGHT * SERIAL))],
      read: async () => ({ edges: new Uint32Array(await readBuffers(device, edges)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ edges }) => verifyEdges(image, edges, { width, height }, seed + 1),
    kernelSources: { sobel: SOBEL },
    // Each channel takes two differences, two squares, a sum, a root and a division; the rest is
    // whole numbers.
    work: { bytes: 8 * image.length, flops: 4 * 7 * image.length },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Compares with f64. A result may be off by 2^-8 of a level before it is rounded to one. Gradients
 * are exact, and the square root and the squares under it round within a few units of 255·2^-24.
 */
function verifyEdges(
  image: Uint32Array,
  edges: Uint32Array,
  { width, height }: { width: number; height: number },
  seed: number,
): Verdict {
  const tolerance = 0.5 + 2 ** -8;
  for (const index of sampleIndices(width * height, VERIFIED_PIXELS, seed)) {
    const x = index % width;
    const y = (index - x) / width;
    const left = Math.max(x - 1, 0);
    const right = Math.min(x + 1, width - 1);
    const rows = [Math.max(y - 1, 0), y, Math.min(y + 1, height - 1)].map((row) => row * width);
    const [upper, middle, lower] = rows as [number, number, number];
    for (let shift = 0; shift < 32; shift += 8) {
      const channel = (at: number) => (image[at]! >>> shift) & 255;
      const diagonal = channel(lower + right) - channel(upper + left);
      const antidiagonal = channel(upper + right) - channel(lower + left);
      const across = diagonal + antidiagonal + 2 * (channel(middle + right) - channel(middle + left));
      const down = diagonal - antidiagonal + 2 * (channel(lower + x) - channel(upper + x));
      const expected = Math.min(255, Math.sqrt(across * across + down * down) / 2);
      const actual = (edges[index]! >>> shift) & 255;
      if (!(Math.abs(actual - expected) <= tolerance)) {
        const message = `channel ${shift / 8} of the pixel at ${x}, ${y} is ${actual} instead of ${expected}`;
        return { ok: false, message };
      }
    }
  }
  return { ok: true, message: `the edges of ${width} x ${height} pixels are within rounding` };
}
