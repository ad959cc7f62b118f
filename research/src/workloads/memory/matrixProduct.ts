import type { VerifiableProgram } from "../program.ts";
import { productProgram } from "../samples/productProgram.ts";

/**
 * The side of the tile that a workgroup computes, `DEPTH` products at a time. An invocation
 * computes 8 x 8 elements of it.
 */
const TILE = 128;
const DEPTH = 16;

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const lines = (count: number, line: (i: number) => string) => range(count).map(line).join("\n  ");

/** The number of steps of depth that the kernel writes out. */
const UNROLLED = 4;

/**
 * The kernel, blocked for registers, as in Nath, Tomov, Dongarra, "An improved MAGMA GEMM for Fermi
 * GPUs", 2010. The tile of `a` is kept by columns, which lie 33 vectors apart to spread over the
 * banks. A step of depth then takes 16 registers besides the sums. Two workgroups fit, of which one
 * loads while the other computes. Lanes of a subgroup form a tile of 4 x 8, so that few of them
 * load different words.
 */
const MULTIPLY = /* wgsl */ `
struct Shape {
  columns: u32, // of the product and of b, in vectors
  inner: u32, // columns of a, in vectors
}

const TILE = ${TILE}u;
const DEPTH = ${DEPTH}u;
const WIDTH = ${TILE / 4}u; // in vectors
const APART = WIDTH + 1u;

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> a: array<vec4f>;
@group(0) @binding(2) var<storage, read> b: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> product: array<vec4f>;

var<workgroup> aTile: array<vec4f, DEPTH * APART>;
var<workgroup> bTile: array<vec4f, DEPTH * WIDTH>;

@compute @workgroup_size(256)
fn multiply(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let columns = shape.columns;
  let inner = shape.inner;
  let x = local % 8u + local / 32u % 2u * 8u;
  let y = local / 8u % 4u + local / 64u * 4u;
  let aFrom = (group.y * TILE + local / 4u) * inner + local % 4u;
  let bFrom = local / WIDTH * columns + group.x * WIDTH + local % WIDTH;
  let put = local % 4u * 4u * APART + local / 16u;
  let row = local / 4u % 4u;
  ${lines(8, (i) => `var left${i} = vec4f(); var right${i} = vec4f();`)}

  for (var depth = 0u; depth < inner; depth += DEPTH / 4u) {
    ${lines(2, (i) => `let a${i} = a[aFrom + ${i * 64}u * inner + depth];`)}
    ${lines(2, (i) => `let b${i} = b[bFrom + (${i * 8}u + 4u * depth) * columns];`)}
    ${lines(4, (k) => lines(2, (i) => `aTile[put + ${k}u * APART + ${i * 16}u][row] = a${i}.${"xyzw"[k]};`))}
    ${lines(2, (i) => `bTile[local + ${i * 256}u] = b${i};`)}
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k += ${UNROLLED}u) {
      ${lines(UNROLLED, step)}
    }
    workgroupBarrier();
  }

  ${lines(8, (i) => {
    const to = `(group.y * TILE + 4u * y + ${(i % 4) + Math.floor(i / 4) * 64}u) * columns + group.x * WIDTH + x`;
    return `product[${to}] = left${i}; product[${to} + WIDTH / 2u] = right${i};`;
  })}
}`;

/**
 * Returns code that adds the products of one column of the tile of `a` and one row of that of `b`.
 */
function step(k: number): string {
  const upper = `let upper${k} = aTile[(k + ${k}u) * APART + y]; let lower${k} = aTile[(k + ${k}u) * APART + y + 16u];`;
  const across = `let west${k} = bTile[(k + ${k}u) * WIDTH + x]; let east${k} = bTile[(k + ${k}u) * WIDTH + x + WIDTH / 2u];`;
  const sums = lines(8, (i) => {
    const factor = `vec4f(${i < 4 ? "upper" : "lower"}${k}.${"xyzw"[i % 4]})`;
    return `left${i} = fma(${factor}, west${k}, left${i}); right${i} = fma(${factor}, east${k}, right${i});`;
  });
  return [upper, across, sums].join("\n  ");
}

export interface BlockedMatrixProductOptions {
  /** The number of rows, a multiple of 128, as that of columns. */
  readonly rows?: number;
  readonly columns?: number;
  /** The number of products in a sum, a multiple of 16. */
  readonly inner?: number;
}

/**
 * Creates the product of two f32 matrices, as fast as WGSL allows. Their elements are small and
 * whole, so that it is exact.
 */
export function create(
  options: BlockedMatrixProductOptions = {},
): VerifiableProgram<{ product: Float32Array }> {
  const { rows = TILE, columns = rows, inner = rows } = options;
  if (rows % TILE !== 0 || columns % TILE !== 0 || inner % DEPTH !== 0) {
    throw new RangeError(`a product of ${rows}x${inner} and ${inner}x${columns} has no whole tiles`);
  }
  const shape = Uint32Array.of(columns / 4, inner / 4);
  return productProgram({ kernel: MULTIPLY, tile: TILE, shape, rows, columns, inner, seed: 1 });
}

export default (device: GPUDevice) => create().workload(device);
