import { readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomIntegers } from "../random.ts";

/** The side of the window, whose center is at the pixel. */
const WINDOW = 3;
const WORKGROUP = 64;

export interface ConvolutionOptions {
  readonly size?: number;
  readonly channels?: number;
  readonly filters?: number;
  readonly seed?: number;
}

/** Writes a layer of a network over a padded square image. Each invocation computes one result. */
const kernelFor = (size: number, channels: number, filters: number) => /* wgsl */ `
const SIZE = ${size};
const CHANNELS = ${channels}u;
const FILTERS = ${filters}u;

@group(0) @binding(0) var<storage, read> image: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> features: array<f32>;

@compute @workgroup_size(${WORKGROUP})
fn convolve(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= arrayLength(&features)) { return; }
  let chosen = id.x % FILTERS;
  let x = i32(id.x / FILTERS) % SIZE;
  let y = i32(id.x / FILTERS) / SIZE;
  var sum = 0.0;
  for (var i = 0; i < ${WINDOW}; i++) {
    let row = y + i - ${(WINDOW - 1) / 2};
    if (row < 0 || row >= SIZE) { continue; }
    for (var j = 0; j < ${WINDOW}; j++) {
      let column = x + j - ${(WINDOW - 1) / 2};
      if (column < 0 || column >= SIZE) { continue; }
      for (var channel = 0u; channel < CHANNELS; channel++) {
        let pixel = image[u32(row * SIZE + column) * CHANNELS + channel];
        sum += pixel * weights[(u32(i * ${WINDOW} + j) * CHANNELS + channel) * FILTERS + chosen];
      }
    }
  }
  features[id.x] = sum;
}`;

/**
 * Creates a 3 x 3 convolution of an image with channels. Its numbers are small and whole, so that
 * the sums are exact.
 */
export function create({
  size = 12,
  channels = 4,
  filters = 16,
  seed = 1,
}: ConvolutionOptions = {}): VerifiableProgram<{ features: Float32Array }> {
  const image = randomIntegers(size * size * channels, 15, seed);
  const weights = randomIntegers(WINDOW * WINDOW * channels * filters, 15, seed + 1);
  const kernel = kernelFor(size, channels, filters);
  const count = size * size * filters;

  const prepare = (device: GPUDevice): Prepared<{ features: Float32Array }> => {
    const features = resultBuffer(device, 4 * count);
    return prepareDispatch(device, kernel, {
      buffers: [uploadBuffer(device, image), uploadBuffer(device, weights), features],
      grid: [Math.ceil(count / WORKGROUP)],
      read: async () => ({ features: new Float32Array(await readBuffers(device, features)) }),
    });
  };

  const expected = () =>
    Float32Array.from({ length: count }, (_, index) => {
      const [pixel, chosen] = [Math.floor(index / filters), index % filters];
      const [y, x] = [Math.floor(pixel / size), pixel % size];
      let sum = 0;
      for (let at = 0; at < WINDOW * WINDOW * channels; at++) {
        const [place, channel] = [Math.floor(at / channels), at % channels];
        const row = y + Math.floor(place / WINDOW) - (WINDOW - 1) / 2;
        const column = x + (place % WINDOW) - (WINDOW - 1) / 2;
        if (Math.min(row, column) < 0 || Math.max(row, column) >= size) continue;
        sum += image[(row * size + column) * channels + channel]! * weights[at * filters + chosen]!;
      }
      return sum;
    });

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ features }) => verifyExact("features", features, expected()),
    kernelSources: { convolve: kernel },
    work: {
      bytes: 4 * (image.length + weights.length + count),
      flops: 2 * count * WINDOW * WINDOW * channels,
    },
  };
}
