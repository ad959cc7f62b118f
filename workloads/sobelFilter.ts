import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "./buffers.ts";
import { type Prepared, type Program, runOnce, type Verdict } from "./program.ts";
import { randomWords, sampleIndices } from "./random.ts";

const WIDTH = 16;
const HEIGHT = 8;

/** The strength of edges, for each of four 8-bit channels; the border is as if it went on. */
const SOBEL = /* wgsl */ `
@group(0) @binding(0) var<uniform> size: vec2u;
@group(0) @binding(1) var<storage, read> image: array<u32>; // rgba8unorm
@group(0) @binding(2) var<storage, read_write> edges: array<u32>;

fn pixel(x: i32, y: i32) -> vec4f {
  let at = vec2u(clamp(vec2i(x, y), vec2i(), vec2i(size) - 1));
  return unpack4x8unorm(image[at.y * size.x + at.x]) * 255.0;
}

@compute @workgroup_size(${WIDTH}, ${HEIGHT})
fn sobel(@builtin(global_invocation_id) id: vec3u) {
  if (any(id.xy >= size)) { return; }
  let x = i32(id.x);
  let y = i32(id.y);
  let upperLeft = pixel(x - 1, y - 1);
  let upperRight = pixel(x + 1, y - 1);
  let lowerLeft = pixel(x - 1, y + 1);
  let lowerRight = pixel(x + 1, y + 1);
  let across = upperRight + 2.0 * pixel(x + 1, y) + lowerRight - upperLeft - 2.0 * pixel(x - 1, y) - lowerLeft;
  let down = lowerLeft + 2.0 * pixel(x, y + 1) + lowerRight - upperLeft - 2.0 * pixel(x, y - 1) - upperRight;
  edges[id.y * size.x + id.x] = pack4x8unorm(sqrt(across * across + down * down) / 510.0);
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
        pass.dispatchWorkgroups(Math.ceil(width / WIDTH), Math.ceil(height / HEIGHT));
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
    // Per channel: six differences and sums and two doublings each way, then four for the magnitude.
    work: { bytes: 8 * image.length, flops: 4 * 20 * image.length },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Compares with f64. Before the result is rounded to a level it may be off by 2^-8 of one: gradients are exact but
 * for the unpacking, and the square root, the division and the packing round within a few units of 255·2^-24.
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
