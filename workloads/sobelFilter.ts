import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "./buffers.ts";
import { type Prepared, type Program, runOnce, type Verdict } from "./program.ts";
import { randomWords, sampleIndices } from "./random.ts";

const WIDTH = 64;
const HEIGHT = 2;
/** How many pixels, one below the other, an invocation computes. */
const SERIAL = 16;

/**
 * The strength of edges, for each of four 8-bit channels; the border is as if it went on. Two channels share a word, as far
 * as numbers are whole, and become floating-point numbers by their bits: GPUs convert slowly.
 */
const SOBEL = /* wgsl */ `
const SERIAL = ${SERIAL}u;

/** A number in each half of two words: of channels 0 and 2, and of 1 and 3. */
alias Channels = vec2u;

struct Row {
  difference: Channels, // of the right and the left pixel, and 255
  sum: Channels, // of the left, twice the middle and the right pixel
}

@group(0) @binding(0) var<uniform> size: vec2u;
@group(0) @binding(1) var<storage, read> image: array<u32>; // rgba8unorm
@group(0) @binding(2) var<storage, read_write> edges: array<u32>;

fn pixel(x: u32, y: u32) -> Channels {
  let word = image[y * size.x + x];
  return vec2u(word, word >> 8u) & vec2u(0x00ff00ffu);
}

fn row(x: u32, y: u32) -> Row {
  let left = pixel(max(x, 1u) - 1u, y);
  let right = pixel(min(x + 1u, size.x - 1u), y);
  return Row(right + vec2u(0x00ff00ffu) - left, left + 2u * pixel(x, y) + right);
}

/** Each channel less 4 * 255, exactly: below 2^23 a whole number is the last bits of itself and 2^23. */
fn centered(channels: Channels) -> vec4f {
  let numbers = vec4u(channels & vec2u(0xffffu), channels >> vec2u(16u));
  return bitcast<vec4f>(numbers | vec4u(0x4b000000u)) - (0x1p23 + 1020.0);
}

@compute @workgroup_size(${WIDTH}, ${HEIGHT})
fn sobel(@builtin(global_invocation_id) id: vec3u) {
  let start = id.y * SERIAL;
  if (id.x >= size.x || start >= size.y) { return; }
  var upper = row(id.x, max(start, 1u) - 1u);
  var middle = row(id.x, start);
  for (var y = start; y < min(start + SERIAL, size.y); y++) {
    let lower = row(id.x, min(y + 1u, size.y - 1u));
    let across = centered(upper.difference + 2u * middle.difference + lower.difference);
    let down = centered(lower.sum + vec2u(4u * 0x00ff00ffu) - upper.sum);
    edges[y * size.x + id.x] = pack4x8unorm(sqrt(across * across + down * down) / 510.0);
    upper = middle;
    middle = lower;
  }
}`;

/** Beyond this many pixels a seeded sample is compared with the reference. */
const VERIFIED_PIXELS = 2 ** 22;

export interface SobelFilterOptions {
  readonly width?: number;
  readonly height?: number;
  readonly seed?: number;
}

/** Finds edges in an RGBA image that is kept in a storage buffer. */
export function create(options: SobelFilterOptions = {}): Program<{ edges: Uint32Array }> {
  const { width = 255, height = width, seed = 1 } = options;
  const image = randomWords(width * height, seed);

  const prepare = (device: GPUDevice): Prepared<{ edges: Uint32Array }> => {
    const module = device.createShaderModule({ code: SOBEL });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const size = uploadBuffer(device, Uint32Array.of(width, height), GPUBufferUsage.UNIFORM);
    const input = uploadBuffer(device, image);
    const edges = resultBuffer(device, image.byteLength);
    const bindings = bindBuffers(device, pipeline, size, input, edges);
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindings);
        pass.dispatchWorkgroups(Math.ceil(width / WIDTH), Math.ceil(height / (HEIGHT * SERIAL)));
        pass.end();
      },
      read: async () => ({ edges: new Uint32Array(await readBuffers(device, edges)) }),
      destroy() {
        for (const buffer of [size, input, edges]) buffer.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ edges }) => verifyEdges(image, edges, { width, height }, seed + 1),
    kernelSources: { sobel: SOBEL },
    // Each channel: two differences, two squares, a sum, a root and a division; the rest is whole numbers.
    work: { bytes: 8 * image.length, flops: 4 * 7 * image.length },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Compares with f64. Before the result is rounded to a level it may be off by 2^-8 of one: gradients are exact, and
 * the square root, the division and the packing round within a few units of 255·2^-24.
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
