import { readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomIntegers } from "../random.ts";

const TILE = [32, 8] as const;

/**
 * The kernel of one step of relaxation; the border stays. It works on scalars, as is usual: caches
 * share the loads of neighbors.
 */
const RELAX = /* wgsl */ `
@group(0) @binding(0) var<uniform> width: u32;
@group(0) @binding(1) var<storage, read> before: array<f32>;
@group(0) @binding(2) var<storage, read_write> after: array<f32>;

@compute @workgroup_size(${TILE})
fn relax(@builtin(global_invocation_id) id: vec3u) {
  let height = arrayLength(&before) / width;
  if (id.x >= width || id.y >= height) { return; }
  let here = id.y * width + id.x;
  var value = before[here];
  if (id.x > 0u && id.x < width - 1u && id.y > 0u && id.y < height - 1u) {
    let around = before[here - 1u] + before[here + 1u] + before[here - width] + before[here + width];
    value = 0.5 * value + 0.125 * around;
  }
  after[here] = value;
}`;

export interface StencilOptions {
  readonly width?: number;
  readonly height?: number;
}

/**
 * Creates the two-dimensional five-point stencil. Values are small whole numbers, so that each sum
 * is exact in any order.
 */
export function create({ width = 64, height = width }: StencilOptions = {}): VerifiableProgram<{
  after: Float32Array;
}> {
  const before = randomIntegers(width * height, 1000, 1);

  const prepare = (device: GPUDevice): Prepared<{ after: Float32Array }> => {
    const extent = uploadBuffer(device, Uint32Array.of(width), GPUBufferUsage.UNIFORM);
    const input = uploadBuffer(device, before);
    const output = resultBuffer(device, before.byteLength);
    return prepareDispatch(device, RELAX, {
      buffers: [extent, input, output],
      grid: [Math.ceil(width / TILE[0]), Math.ceil(height / TILE[1])],
      read: async () => ({ after: new Float32Array(await readBuffers(device, output)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ after }) => verifyExact("after", after, relaxed(before, width)),
    kernelSources: { relax: RELAX },
    work: { bytes: 2 * before.byteLength, flops: 6 * before.length },
  };
}

export default (device: GPUDevice) => create().workload(device);

function relaxed(before: Float32Array, width: number): Float32Array {
  const after = before.slice();
  for (let row = width; row < before.length - width; row += width) {
    for (let i = row + 1; i < row + width - 1; i++) {
      const around = before[i - 1]! + before[i + 1]! + before[i - width]! + before[i + width]!;
      after[i] = 0.5 * before[i]! + 0.125 * around;
    }
  }
  return after;
}
