/** Kernels that store sums of products, in the shapes that libraries give them. */

/** A dispatch of a kernel with its buffers. */
export interface ProductKernel {
  readonly name: string;
  readonly source: string;
  readonly grid: readonly [number, number, number];
  /** The buffers in the order of their bindings, all in group 0. */
  readonly buffers: readonly ProductBuffer[];
  /** A text with the same results, for adapters without the extensions of the source. */
  readonly standIn?: string;
}

/** The words of a uniform buffer, or the count of the numbers in a storage buffer. */
export type ProductBuffer =
  | { readonly words: readonly number[] }
  | { readonly numbers: number; readonly format?: "f32" | "f16" | "u4" };

/** Returns the bytes of a buffer. */
export const bytesOf = (buffer: ProductBuffer): number =>
  "words" in buffer
    ? 4 * buffer.words.length
    : buffer.numbers * { f32: 4, f16: 2, u4: 0.5 }[buffer.format ?? "f32"];

const floats = (count: number): ProductBuffer => ({ numbers: count });
const halves = (count: number): ProductBuffer => ({ numbers: count, format: "f16" });
const words = (...all: number[]): ProductBuffer => ({ words: all });

const abc = (element = "f32", start = 0, sums = element) => `
@group(0) @binding(${start}) var<storage, read> a: array<${element}>;
@group(0) @binding(${start + 1}) var<storage, read> b: array<${element}>;
@group(0) @binding(${start + 2}) var<storage, read_write> c: array<${sums}>;`;

/** A product of matrices, one element for each invocation. */
export function plainProduct(m: number, n: number, k: number): ProductKernel {
  const source = `struct Shape { m: u32, n: u32, k: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;${abc("f32", 1)}
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.n || id.y >= shape.m) { return; }
  var sum = 0.0;
  for (var i = 0u; i < shape.k; i++) { sum = fma(a[id.y * shape.k + i], b[i * shape.n + id.x], sum); }
  c[id.y * shape.n + id.x] = sum;
}`;
  const grid = [Math.ceil(n / 8), Math.ceil(m / 8), 1] as const;
  return {
    name: "plain",
    source,
    grid,
    buffers: [words(m, n, k), floats(m * k), floats(k * n), floats(m * n)],
  };
}

/** A product through tiles in workgroup memory. Elements at the edges are loaded as zeros. */
export function tiledProduct(m: number, n: number, k: number): ProductKernel {
  const source = `const m = ${m}u; const n = ${n}u; const k = ${k}u;${abc()}
var<workgroup> aTile: array<array<f32, 8>, 8>;
var<workgroup> bTile: array<array<f32, 8>, 8>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sum = 0.0;
  for (var start = 0u; start < k; start += 8u) {
    var x = 0.0;
    var y = 0.0;
    if (id.y < m && start + local.x < k) { x = a[id.y * k + start + local.x]; }
    if (id.x < n && start + local.y < k) { y = b[(start + local.y) * n + id.x]; }
    aTile[local.y][local.x] = x;
    bTile[local.y][local.x] = y;
    workgroupBarrier();
    for (var i = 0u; i < 8u; i++) { sum += aTile[local.y][i] * bTile[i][local.x]; }
    workgroupBarrier();
  }
  if (id.x < n && id.y < m) { c[id.y * n + id.x] = sum; }
}`;
  const grid = [Math.ceil(n / 8), Math.ceil(m / 8), 1] as const;
  return { name: "tiled", source, grid, buffers: [floats(m * k), floats(k * n), floats(m * n)] };
}

/** A product that is added to a multiple of the output's contents. */
export function addedProduct(m: number, n: number, k: number, scale = 1): ProductKernel {
  const { source, ...others } = tiledProduct(m, n, k);
  const before = `= ${scale.toFixed(1)} * c[id.y * n + id.x] + sum;`;
  return { ...others, name: "in place", source: source.replace("= sum;", before) };
}

/** A product that loads each tile early, and at the end one that it does not use. */
export function prefetchedProduct(m: number, n: number, k: number): ProductKernel {
  const source = `${abc()}
var<workgroup> aTile: array<array<f32, 8>, 8>;
var<workgroup> bTile: array<array<f32, 8>, 8>;
fn early(row: u32, column: u32) -> f32 {
  if (row < ${m}u && column < ${k}u) { return a[row * ${k}u + column]; }
  return 0.0;
}
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sum = 0.0;
  var x = early(id.y, local.x);
  var y = b[local.y * ${n}u + id.x];
  for (var start = 8u; start < ${k + 8}u; start += 8u) {
    aTile[local.y][local.x] = x;
    bTile[local.y][local.x] = y;
    workgroupBarrier();
    x = early(id.y, start + local.x);
    y = b[(start + local.y) * ${n}u + id.x];
    for (var i = 0u; i < 8u; i++) { sum += aTile[local.y][i] * bTile[i][local.x]; }
    workgroupBarrier();
  }
  if (id.x < ${n}u && id.y < ${m}u) { c[id.y * ${n}u + id.x] = sum; }
}`;
  const grid = [Math.ceil(n / 8), Math.ceil(m / 8), 1] as const;
  return { name: "loaded early", source, grid, buffers: [floats(m * k), floats(k * n), floats(m * n)] };
}

/** A product of vectors of four, with four rows for each invocation. */
function vectorizedProduct(m: number, n: number, k: number): ProductKernel {
  const source = `${abc("vec4f")}
var<workgroup> aTile: array<array<vec4f, 4>, 16>;
var<workgroup> bTile: array<array<vec4f, 4>, 16>;
@compute @workgroup_size(4, 4)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sums: array<vec4f, 4>;
  let row = group.y * 16u + local.y * 4u;
  let column = group.x * 4u + local.x;
  for (var start = 0u; start < ${k}u; start += 16u) {
    for (var i = 0u; i < 4u; i++) {
      aTile[local.y * 4u + i][local.x] = a[(row + i) * ${k / 4}u + start / 4u + local.x];
      bTile[local.y * 4u + i][local.x] = b[(start + local.y * 4u + i) * ${n / 4}u + column];
    }
    workgroupBarrier();
    for (var q = 0u; q < 4u; q++) {
      for (var i = 0u; i < 4u; i++) {
        let x = aTile[local.y * 4u + i][q];
        sums[i] += x.x * bTile[q * 4u][local.x] + x.y * bTile[q * 4u + 1u][local.x];
        sums[i] += x.z * bTile[q * 4u + 2u][local.x] + x.w * bTile[q * 4u + 3u][local.x];
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i++) { c[(row + i) * ${n / 4}u + column] = sums[i]; }
}`;
  const grid = [n / 16, m / 16, 1] as const;
  return { name: "vectorized", source, grid, buffers: [floats(m * k), floats(k * n), floats(m * n)] };
}

/** A product with both factors transposed, scaled by a number of a uniform buffer. */
function transposedProduct(m: number, n: number, k: number): ProductKernel {
  const source = `@group(0) @binding(0) var<uniform> alpha: f32;${abc("f32", 1)}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= ${m * n}u) { return; }
  let row = id.x / ${n}u;
  let column = id.x % ${n}u;
  var sum = 0.0;
  for (var i = 0u; i < ${k}u; i++) { sum += a[i * ${m}u + row] * b[column * ${k}u + i]; }
  c[id.x] = alpha * sum;
}`;
  const grid = [Math.ceil((m * n) / 64), 1, 1] as const;
  // The word of the number 0.5.
  const buffers = [words(0x3f000000), floats(m * k), floats(k * n), floats(m * n)];
  return { name: "transposed and flat", source, grid, buffers };
}

/** A product for each batch, with a scaled bias for each column. */
export function batchedProduct(batches: number, m: number, n: number, k: number): ProductKernel {
  const source = `${abc()}
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= ${n}u || id.y >= ${m}u) { return; }
  var sum = 0.0;
  for (var i = 0u; i < ${k}u; i++) {
    sum += a[(id.z * ${m}u + id.y) * ${k}u + i] * b[(id.z * ${k}u + i) * ${n}u + id.x];
  }
  c[(id.z * ${m}u + id.y) * ${n}u + id.x] = sum + 0.5 * bias[id.x];
}`;
  const grid = [Math.ceil(n / 8), Math.ceil(m / 8), batches] as const;
  const buffers = [floats(batches * m * k), floats(batches * k * n), floats(batches * m * n), floats(n)];
  return { name: "batched with a scaled bias", source, grid, buffers };
}

/** The parts of a product whose terms are split among workgroups. */
function splitProduct(parts: number, m: number, n: number, k: number): ProductKernel {
  const source = `${abc()}
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  for (var i = id.z * ${k / parts}u; i < (id.z + 1u) * ${k / parts}u; i++) {
    sum += a[id.y * ${k}u + i] * b[i * ${n}u + id.x];
  }
  c[(id.z * ${m}u + id.y) * ${n}u + id.x] = sum;
}`;
  const grid = [n / 8, m / 8, parts] as const;
  return {
    name: "split terms",
    source,
    grid,
    buffers: [floats(m * k), floats(k * n), floats(parts * m * n)],
  };
}

/** A product of a matrix and a vector, with a workgroup for each row. */
function vectorProduct(m: number, k: number): ProductKernel {
  const source = `${abc()}
var<workgroup> sums: array<f32, 32>;
@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  var sum = 0.0;
  for (var i = lane; i < ${k}u; i += 32u) { sum += a[group.x * ${k}u + i] * b[i]; }
  sums[lane] = sum;
  for (var half = 16u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { sums[lane] += sums[lane + half]; }
  }
  if (lane == 0u) { c[group.x] = sums[0]; }
}`;
  return {
    name: "matrix times vector",
    source,
    grid: [m, 1, 1],
    buffers: [floats(m * k), floats(k), floats(m)],
  };
}

/** A product of a matrix and a vector, whose terms are added up in subgroups of any size. */
function subgroupProduct(m: number, k: number): ProductKernel {
  const source = `enable subgroups;${abc()}
var<workgroup> sums: array<f32, 64>;
@compute @workgroup_size(64) fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(num_subgroups) subgroups: u32,
) {
  var sum = 0.0;
  for (var i = lane; i < ${k}u; i += 64u) { sum += a[group.x * ${k}u + i] * b[i]; }
  sums[subgroup] = subgroupAdd(sum);
  workgroupBarrier();
  if (lane == 0u) {
    var all = 0.0;
    for (var i = 0u; i < subgroups; i++) { all += sums[i]; }
    c[group.x] = all;
  }
}`;
  const { grid, buffers, source: standIn } = vectorProduct(m, k);
  return { name: "matrix times vector in subgroups", source, grid, buffers, standIn };
}

/** A product whose sums carry their rounding errors along (Kahan). */
function compensatedProduct(m: number, n: number, k: number): ProductKernel {
  const source = `${abc()}
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  var error = 0.0;
  for (var i = 0u; i < ${k}u; i++) {
    let term = a[id.y * ${k}u + i] * b[i * ${n}u + id.x] - error;
    let next = sum + term;
    error = (next - sum) - term;
    sum = next;
  }
  c[id.y * ${n}u + id.x] = sum;
}`;
  const buffers = [floats(m * k), floats(k * n), floats(m * n)];
  return { name: "compensated", source, grid: [n / 8, m / 8, 1], buffers };
}

/** The shape of a convolution of padded images. */
export interface ConvolutionShape {
  readonly images: number;
  readonly size: number;
  readonly channels: number;
  readonly filters: number;
  readonly window: number;
  readonly stride: number;
  readonly padding: number;
}

/** A convolution with the channels last, one element for each invocation. */
export function convolution(shape: ConvolutionShape): ProductKernel {
  const { images, size, channels, filters, window, stride, padding } = shape;
  const out = Math.floor((size + 2 * padding - window) / stride) + 1;
  const count = images * out * out * filters;
  const source = `${abc()}
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= ${count}u) { return; }
  let filter_ = id.x % ${filters}u;
  let x = i32(id.x / ${filters}u % ${out}u) * ${stride} - ${padding};
  let y = i32(id.x / ${filters * out}u % ${out}u) * ${stride} - ${padding};
  let image = id.x / ${filters * out * out}u;
  var sum = 0.0;
  for (var dy = 0; dy < ${window}; dy++) {
    if (y + dy < 0 || y + dy >= ${size}) { continue; }
    for (var dx = 0; dx < ${window}; dx++) {
      if (x + dx < 0 || x + dx >= ${size}) { continue; }
      for (var channel = 0u; channel < ${channels}u; channel++) {
        let at = (image * ${size}u + u32(y + dy)) * ${size}u + u32(x + dx);
        sum += a[at * ${channels}u + channel] * b[((u32(dy) * ${window}u + u32(dx)) * ${channels}u + channel) * ${filters}u + filter_];
      }
    }
  }
  c[id.x] = sum;
}`;
  const sizes = [images * size * size * channels, window * window * channels * filters, count];
  return {
    name: `${window}x${window} convolution, stride ${stride}, padding ${padding}`,
    source,
    grid: [Math.ceil(count / 32), 1, 1],
    buffers: sizes.map(floats),
  };
}

/** A convolution with the channels first, and the weights of each filter in one piece. */
function planarConvolution({ size, channels, filters, window, padding }: ConvolutionShape): ProductKernel {
  const out = size + 2 * padding - window + 1;
  const source = `${abc()}
fn pixel(channel: u32, y: i32, x: i32) -> f32 {
  if (min(x, y) < 0 || max(x, y) >= ${size}) { return 0.0; }
  return a[(channel * ${size}u + u32(y)) * ${size}u + u32(x)];
}
@compute @workgroup_size(8, 4) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= ${out}u || id.y >= ${out}u) { return; }
  var sum = 0.0;
  for (var channel = 0u; channel < ${channels}u; channel++) {
    for (var i = 0; i < ${window * window}; i++) {
      let weight = b[(id.z * ${channels}u + channel) * ${window * window}u + u32(i)];
      sum += pixel(channel, i32(id.y) + i / ${window} - ${padding}, i32(id.x) + i % ${window} - ${padding}) * weight;
    }
  }
  c[(id.z * ${out}u + id.y) * ${out}u + id.x] = sum;
}`;
  const sizes = [size * size * channels, window * window * channels * filters, out * out * filters];
  return {
    name: "convolution of planes",
    source,
    grid: [Math.ceil(out / 8), Math.ceil(out / 4), filters],
    buffers: sizes.map(floats),
  };
}

/** A product of numbers of 16 bits, whose sums have 32. */
function halfProduct(m: number, n: number, k: number): ProductKernel {
  const source = `enable f16;${abc("f16")}
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  for (var i = 0u; i < ${k}u; i++) { sum += f32(a[id.y * ${k}u + i]) * f32(b[i * ${n}u + id.x]); }
  c[id.y * ${n}u + id.x] = f16(sum);
}`;
  // An invocation stores two results, in one word.
  const standIn = `${abc("u32")}
@compute @workgroup_size(4, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = vec2f();
  for (var i = 0u; i < ${k}u; i++) {
    let x = unpack2x16float(a[(id.y * ${k}u + i) / 2u])[i % 2u];
    sum += x * unpack2x16float(b[(i * ${n}u + 2u * id.x) / 2u]);
  }
  c[(id.y * ${n}u + 2u * id.x) / 2u] = pack2x16float(sum);
}`;
  return {
    name: "f16 with f32 sums",
    source,
    grid: [n / 8, m / 8, 1],
    buffers: [m * k, k * n, m * n].map(halves),
    standIn,
  };
}

/**
 * A product of a factor and weights of four bits, 32 of which share a scale. The factor is
 * transposed unless it lies by rows.
 */
export function packedProduct(m: number, n: number, blocks: number, isByRows = false): ProductKernel {
  const k = 32 * blocks;
  const source = `@group(0) @binding(0) var<storage, read> words: array<vec2u>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read> a: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
var<workgroup> weights: array<vec4f, 64>;
fn fours(word: u32) -> array<vec4f, 2> {
  let all = (vec4u(word) >> vec4u(0u, 4u, 8u, 12u)) & vec4u(15u);
  let others = vec4i((vec4u(word) >> vec4u(16u, 20u, 24u, 28u)) & vec4u(15u));
  return array<vec4f, 2>(vec4f(all) - 8.0, vec4f(others - 8));
}
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u) {
  var sum = 0.0;
  for (var block = 0u; block < ${blocks}u; block++) {
    if (local.y < 4u && id.x < ${n}u) {
      let pair = words[(id.x * ${blocks}u + block) * 2u + local.y / 2u];
      let scale = scales[id.x * ${blocks}u + block];
      let both = fours(pair[local.y % 2u]);
      for (var i = 0u; i < 2u; i++) { weights[8u * local.x + 2u * local.y + i] = scale * both[i]; }
    }
    workgroupBarrier();
    for (var i = 0u; i < 32u; i++) {
      let x = select(0.0, a[${isByRows ? `id.y * ${k}u + 32u * block + i` : `(32u * block + i) * ${m}u + id.y`}], id.y < ${m}u);
      sum += x * weights[8u * local.x + i / 4u][i % 4u];
    }
    workgroupBarrier();
  }
  if (id.x < ${n}u && id.y < ${m}u) { c[id.y * ${n}u + id.x] = sum; }
}`;
  return {
    name: `weights of four bits with scales, and a factor by ${isByRows ? "rows" : "columns"}`,
    source,
    grid: [Math.ceil(n / 8), Math.ceil(m / 8), 1],
    buffers: [{ numbers: n * k, format: "u4" }, floats(n * blocks), floats(k * m), floats(m * n)],
  };
}

/** A product with a right factor of two numbers of 16 bits in each word. */
function pairedProduct(m: number, n: number, k: number): ProductKernel {
  const source = `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  for (var i = 0u; i < ${k / 2}u; i++) {
    let pair = unpack2x16float(b[id.x * ${k / 2}u + i]);
    sum += a[id.y * ${k}u + 2u * i] * pair.x + a[id.y * ${k}u + 2u * i + 1u] * pair.y;
  }
  c[id.y * ${n}u + id.x] = sum;
}`;
  const buffers = [floats(m * k), halves(k * n), floats(m * n)];
  return { name: "pairs of 16 bits", source, grid: [n / 8, m / 8, 1], buffers };
}

/**
 * A product in subgroup matrices. Each of two subgroups computes two matrices of results. The left
 * factor goes through workgroup memory, and the right one is transposed.
 */
function matrixUnitProduct(m: number, n: number, k: number): ProductKernel {
  const matrix = (side: string, type: string) => `subgroup_matrix_${side}<${type}, 16, 16>`;
  const [left, right, result] = [matrix("left", "f16"), matrix("right", "f16"), matrix("result", "f32")];
  const source = `enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);${abc("f16", 0, "f32")}
var<workgroup> aTile: array<f16, 256>;
fn multiplied(at: u32, x: ${left}, sum: ${result}) -> ${result} {
  return subgroupMatrixMultiplyAccumulate(x, subgroupMatrixLoad<${right}, col_major>(&b, at, ${k}u), sum);
}
@compute @workgroup_size(64) fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let column = 64u * group.x + 32u * subgroup;
  var sums: array<${result}, 2>;
  for (var start = 0u; start < ${k}u; start += 16u) {
    for (var i = lane; i < 256u; i += 64u) {
      aTile[i] = a[(16u * group.y + i / 16u) * ${k}u + start + i % 16u];
    }
    workgroupBarrier();
    let x = subgroupMatrixLoad<${left}, row_major>(&aTile, 0u, 16u);
    for (var i = 0u; i < 2u; i++) { sums[i] = multiplied((column + 16u * i) * ${k}u + start, x, sums[i]); }
    workgroupBarrier();
  }
  for (var i = 0u; i < 2u; i++) {
    let scaled = subgroupMatrixScalarMultiply(sums[i], 0.5);
    subgroupMatrixStore<row_major>(&c, 16u * group.y * ${n}u + column + 16u * i, scaled, ${n}u);
  }
}`;
  const standIn = `${abc("u32", 0, "f32")}
@compute @workgroup_size(64, 1) fn main(@builtin(global_invocation_id) id: vec3u) {
  for (var row = 16u * id.y; row < 16u * id.y + 16u; row++) {
    var sum = 0.0;
    for (var i = 0u; i < ${k}u; i += 2u) {
      sum += dot(unpack2x16float(a[(row * ${k}u + i) / 2u]), unpack2x16float(b[(id.x * ${k}u + i) / 2u]));
    }
    c[row * ${n}u + id.x] = 0.5 * sum;
  }
}`;
  return {
    name: "subgroup matrices",
    source,
    grid: [n / 64, m / 16, 1],
    buffers: [halves(m * k), halves(k * n), floats(m * n)],
    standIn,
  };
}

const image = { images: 2, size: 7, channels: 3, filters: 5, window: 3, stride: 1, padding: 1 };

/** The shape of an attention. Groups of heads share keys and values. */
interface Attention {
  readonly tokens: number;
  readonly heads: number;
  readonly groups: number;
  /** The numbers of one head. */
  readonly width: number;
}

const attentionConstants = ({ tokens, heads, groups, width }: Attention) =>
  `const tokens = ${tokens}u; const heads = ${heads}u; const groups = ${groups}u; const width = ${width}u;`;

/** The products of queries and keys: a matrix of tokens for each head. */
export function scoreProduct(shape: Attention): ProductKernel {
  const { tokens, heads, groups, width } = shape;
  const source = `${attentionConstants(shape)}${abc()}
var<workgroup> queries: array<array<f32, width>, 8>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u) {
  for (var i = local.x; i < width; i += 8u) {
    var x = 0.0;
    if (id.y < tokens) { x = a[(id.y * heads + id.z) * width + i]; }
    queries[local.y][i] = x;
  }
  workgroupBarrier();
  if (id.x >= tokens || id.y >= tokens) { return; }
  let key = (id.x * groups + id.z / (heads / groups)) * width;
  var sum = 0.0;
  for (var i = 0u; i < width; i++) { sum += queries[local.y][i] * b[key + i]; }
  c[(id.z * tokens + id.y) * tokens + id.x] = sum * inverseSqrt(f32(width));
}`;
  const grid = [Math.ceil(tokens / 8), Math.ceil(tokens / 8), heads] as const;
  const sizes = [tokens * heads * width, tokens * groups * width, heads * tokens * tokens];
  return { name: "scores of attention", source, grid, buffers: sizes.map(floats) };
}

/** The products of weights and values: a vector for each token and head. */
export function mixedValues(shape: Attention): ProductKernel {
  const { tokens, heads, groups, width } = shape;
  const source = `${attentionConstants(shape)}${abc()}
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= width || id.y >= tokens) { return; }
  let value = id.z / (heads / groups) * width + id.x;
  var sum = 0.0;
  for (var i = 0u; i < tokens; i++) {
    sum += a[(id.z * tokens + id.y) * tokens + i] * b[i * groups * width + value];
  }
  c[(id.y * heads + id.z) * width + id.x] = sum;
}`;
  const grid = [Math.ceil(width / 8), Math.ceil(tokens / 8), heads] as const;
  const sizes = [heads * tokens * tokens, tokens * groups * width, tokens * heads * width];
  return { name: "values of attention", source, grid, buffers: sizes.map(floats) };
}

const attention = { tokens: 11, heads: 6, groups: 2, width: 16 };

/** One kernel of each shape, small. */
export const productKernels: readonly ProductKernel[] = [
  plainProduct(19, 21, 10),
  tiledProduct(19, 21, 12),
  vectorizedProduct(32, 48, 32),
  transposedProduct(20, 24, 9),
  batchedProduct(3, 17, 9, 6),
  splitProduct(2, 16, 24, 12),
  vectorProduct(12, 70),
  subgroupProduct(5, 150),
  compensatedProduct(8, 16, 20),
  convolution(image),
  convolution({ ...image, window: 3, stride: 2, padding: 0, size: 9 }),
  convolution({ ...image, window: 1, padding: 0 }),
  planarConvolution({ ...image, images: 1 }),
  halfProduct(16, 24, 12),
  packedProduct(19, 21, 3),
  packedProduct(19, 70, 1, true),
  pairedProduct(8, 16, 12),
  matrixUnitProduct(32, 128, 48),
  scoreProduct(attention),
  mixedValues(attention),
];
