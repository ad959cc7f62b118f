import type { VerifiableProgram } from "../program.ts";
import { productProgram } from "./productProgram.ts";

/**
 * The kernel: tiles of 16 x 16 elements go through workgroup memory, and each invocation computes
 * two elements of a tile.
 */
const MULTIPLY = /* wgsl */ `
struct Shape {
  rows: u32,
  columns: u32,
  inner: u32,
}

const TILE = 16u;
const HALF = 8u;

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> product: array<f32>;

var<workgroup> aTile: array<array<f32, TILE>, TILE>;
var<workgroup> bTile: array<array<f32, TILE>, TILE>;

fn loadA(row: u32, column: u32) -> f32 {
  if (row < shape.rows && column < shape.inner) { return a[row * shape.inner + column]; }
  return 0.0;
}

fn loadB(row: u32, column: u32) -> f32 {
  if (row < shape.inner && column < shape.columns) { return b[row * shape.columns + column]; }
  return 0.0;
}

@compute @workgroup_size(TILE, HALF)
fn multiply(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let row = group.y * TILE + local.y;
  let column = group.x * TILE + local.x;
  var upper = 0.0;
  var lower = 0.0;

  for (var start = 0u; start < shape.inner; start += TILE) {
    aTile[local.y][local.x] = loadA(row, start + local.x);
    aTile[local.y + HALF][local.x] = loadA(row + HALF, start + local.x);
    bTile[local.y][local.x] = loadB(start + local.y, column);
    bTile[local.y + HALF][local.x] = loadB(start + local.y + HALF, column);
    workgroupBarrier();

    for (var k = 0u; k < TILE; k++) {
      upper += aTile[local.y][k] * bTile[k][local.x];
      lower += aTile[local.y + HALF][k] * bTile[k][local.x];
    }
    workgroupBarrier();
  }

  if (column < shape.columns) {
    if (row < shape.rows) { product[row * shape.columns + column] = upper; }
    if (row + HALF < shape.rows) { product[(row + HALF) * shape.columns + column] = lower; }
  }
}`;

const TILE = 16;

export interface MatrixProductOptions {
  readonly rows?: number;
  readonly columns?: number;
  readonly inner?: number;
  readonly seed?: number;
}

/**
 * Creates the product of two f32 matrices. Their elements are small and whole, so that it is exact.
 */
export function create(options: MatrixProductOptions = {}): VerifiableProgram<{ product: Float32Array }> {
  const { rows = 128, columns = rows, inner = rows, seed = 1 } = options;
  const shape = Uint32Array.of(rows, columns, inner);
  return productProgram({ kernel: MULTIPLY, tile: TILE, shape, rows, columns, inner, seed });
}

export default (device: GPUDevice) => create().workload(device);
