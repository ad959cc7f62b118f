import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { verifyProduct } from "../matrixProduct.ts";
import { type Prepared, type Program, runOnce } from "../program.ts";
import { randomIntegers } from "../random.ts";

/** A workgroup computes a tile of this side, over this depth at a time; an invocation computes 8 x 8 elements of it. */
const TILE = 128;
const DEPTH = 16;

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const lines = (count: number, line: (i: number) => string) => range(count).map(line).join("\n  ");

/**
 * Blocked for registers, as in Nath, Tomov, Dongarra, "An improved MAGMA GEMM for Fermi GPUs", 2010. Vectors of `a` run along
 * its rows, so four steps of depth take one vector of each row. Lanes of a subgroup form a tile of 4 x 8, so that few of
 * them load different words. Loading the next tile ahead is no faster: another workgroup computes meanwhile.
 */
const MULTIPLY = /* wgsl */ `
struct Shape {
  columns: u32, // of the product and of b, in vectors
  inner: u32, // columns of a, in vectors
}

const TILE = ${TILE}u;
const DEPTH = ${DEPTH / 4}u; // in vectors
const WIDTH = ${TILE / 4}u; // in vectors

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> a: array<vec4f>;
@group(0) @binding(2) var<storage, read> b: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> product: array<vec4f>;

var<workgroup> aTile: array<vec4f, TILE * DEPTH>;
var<workgroup> bTile: array<vec4f, 4 * DEPTH * WIDTH>;

@compute @workgroup_size(256)
fn multiply(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let columns = shape.columns;
  let inner = shape.inner;
  let x = local % 8u + local / 32u % 2u * 8u;
  let y = local / 8u % 4u + local / 64u * 4u;
  let aFrom = (group.y * TILE + local / DEPTH) * inner + local % DEPTH;
  let bFrom = local / WIDTH * columns + group.x * WIDTH + local % WIDTH;
  ${lines(8, (i) => `var left${i} = vec4f(); var right${i} = vec4f();`)}

  for (var depth = 0u; depth < inner; depth += DEPTH) {
    ${lines(2, (i) => `aTile[local + ${i * 256}u] = a[aFrom + ${i * 64}u * inner + depth];`)}
    ${lines(2, (i) => `bTile[local + ${i * 256}u] = b[bFrom + (${i * 8}u + 4u * depth) * columns];`)}
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      ${lines(8, (i) => `let a${i} = aTile[(y + ${i * 16}u) * DEPTH + k];`)}
      ${lines(4, (j) => {
        const part = "xyzw"[j];
        const sums = lines(
          8,
          (i) =>
            `left${i} = fma(vec4f(a${i}.${part}), b${j}, left${i}); right${i} = fma(vec4f(a${i}.${part}), c${j}, right${i});`,
        );
        return `let b${j} = bTile[(4u * k + ${j}u) * WIDTH + x]; let c${j} = bTile[(4u * k + ${j}u) * WIDTH + x + WIDTH / 2u];\n  ${sums}`;
      })}
    }
    workgroupBarrier();
  }

  let to = (group.y * TILE + y) * columns + group.x * WIDTH + x;
  ${lines(8, (i) => `product[to + ${i * 16}u * columns] = left${i}; product[to + ${i * 16}u * columns + WIDTH / 2u] = right${i};`)}
}`;

export interface BlockedMatrixProductOptions {
  /** Whole multiples of 128. */
  readonly rows?: number;
  readonly columns?: number;
  /** A whole multiple of 16. */
  readonly inner?: number;
  readonly seed?: number;
}

/** The product of two f32 matrices, as fast as WGSL has it; their elements are small and whole, so that it is exact. */
export function create(options: BlockedMatrixProductOptions = {}): Program<{ product: Float32Array }> {
  const { rows = TILE, columns = rows, inner = rows, seed = 1 } = options;
  if (rows % TILE !== 0 || columns % TILE !== 0 || inner % DEPTH !== 0) {
    throw new RangeError(`a product of ${rows}x${inner} and ${inner}x${columns} has no whole tiles`);
  }
  const magnitude = Math.max(1, Math.min(15, Math.floor(Math.sqrt(2 ** 24 / inner))));
  const a = randomIntegers(rows * inner, magnitude, seed);
  const b = randomIntegers(inner * columns, magnitude, seed + 1);

  const prepare = (device: GPUDevice): Prepared<{ product: Float32Array }> => {
    const module = device.createShaderModule({ code: MULTIPLY });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const shape = uploadBuffer(device, Uint32Array.of(columns / 4, inner / 4), GPUBufferUsage.UNIFORM);
    const [left, right] = [uploadBuffer(device, a), uploadBuffer(device, b)];
    const product = resultBuffer(device, rows * columns * 4);
    const bindings = bindBuffers(device, pipeline, shape, left, right, product);
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindings);
        pass.dispatchWorkgroups(columns / TILE, rows / TILE);
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
