import { describe, expect, it } from "vitest";
import { findIn, sumsIn } from "../../../../test/support/kernels/foundSums.ts";
import {
  addedProduct,
  convolution,
  type ProductKernel,
  plainProduct,
  prefetchedProduct,
  productKernels,
  tiledProduct,
} from "../../../../test/support/kernels/productKernels.ts";
import { createReferenceBuffer } from "../reference/index.ts";
import { nearestArithmetic } from "../reference/nearest.ts";
import { referenceOf, resolveKernel } from "../reference/referenceKernel.ts";
import { subgroupMatrices } from "../reference/subgroupMatrices.ts";
import type { Dimension, SumsOfProducts } from "./sums.ts";

/** Returns the results that sums of products claim, of small whole numbers. */
function computed(sums: SumsOfProducts, contents: readonly Float64Array[]): Float64Array {
  const count = (all: readonly Dimension[]) => all.reduce((product, { size }) => product * size, 1);
  const digits = (all: readonly Dimension[], index: number) => {
    let rest = index;
    return all.map(({ size }) => {
      const digit = rest % size;
      rest = Math.floor(rest / size);
      return digit;
    });
  };
  const at = (all: readonly Dimension[], of: readonly number[], operand: keyof SumsOfProducts["start"]) =>
    all.reduce((sum, each, i) => sum + each[operand] * of[i]!, 0);
  return Float64Array.from({ length: sums.count }, (_, index) => {
    const result = digits(sums.results, index);
    let sum = 0;
    for (let t = 0; t < count(sums.terms); t++) {
      const term = digits(sums.terms, t);
      const exists = sums.windows.every((each) => {
        const position = each.scale * (Math.floor(index / each.unit) % each.size) + term[each.term]!;
        return position >= each.low && position <= each.high;
      });
      if (!exists) continue;
      const number = (operand: "left" | "right" | "scale", { of, plus }: SumsOfProducts["left"]) => {
        const address =
          sums.start[operand] + at(sums.results, result, operand) + at(sums.terms, term, operand);
        return contents[of.binding]![address]! + plus;
      };
      const scale = sums.scale ? number("scale", sums.scale) : 1;
      sum += number("left", sums.left) * number("right", sums.right) * scale;
    }
    const added = sums.added && contents[sums.added.of.binding]!;
    const plus = added?.[sums.start.added + at(sums.results, result, "added")] ?? 0;
    return sums.coefficient * sum + sums.addedScale * plus;
  });
}

/** Returns the results of a kernel as the reference executor computes them. */
function executed(kernel: ProductKernel, contents: readonly Float64Array[]): number[] {
  const reference = referenceOf(resolveKernel(kernel), {
    nearest: nearestArithmetic,
    matrices: subgroupMatrices,
  });
  if ("construct" in reference) throw new Error(reference.construct);
  const buffers = kernel.buffers.map((each, binding) => {
    const bytes = "words" in each ? Uint32Array.from(each.words) : floatsAs(each.format, contents[binding]!);
    return { group: 0, binding, buffer: createReferenceBuffer(bytes) };
  });
  expect(reference.run({ workgroups: kernel.grid, buffers })).toEqual({});
  const output = kernel.buffers.findIndex((_, i) =>
    kernel.source.includes(`@binding(${i}) var<storage, read_write>`),
  );
  const { bytes } = buffers[output]!.buffer;
  const each = kernel.buffers[output]!;
  if ("format" in each && each.format === "f16") return [...new Uint16Array(bytes.buffer)].map(fromHalf);
  return [...new Float32Array(bytes.buffer)];
}

/** Returns small whole numbers in a format. */
function floatsAs(format: "f32" | "f16" | "u4" | undefined, numbers: Float64Array): ArrayBufferView {
  if (format === "u4")
    return Uint8Array.from(
      { length: numbers.length / 2 },
      (_, i) => numbers[2 * i]! + 16 * numbers[2 * i + 1]!,
    );
  return format === "f16" ? Uint16Array.from(numbers, toHalf) : Float32Array.from(numbers);
}

const halves = new Map(Array.from({ length: 2 ** 16 }, (_, bits) => [fromHalf(bits), bits] as const));
const toHalf = (x: number) => halves.get(x)!;
function fromHalf(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  return exponent === 0 ? (sign * fraction) / 2 ** 24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

describe("sums of products", () => {
  it.each([...productKernels, addedProduct(19, 21, 12, -0.5)])("are found in a kernel: $name", (kernel) => {
    const found = sumsIn(kernel);
    const contents = kernel.buffers.map((each, i) =>
      "words" in each
        ? new Float64Array(0)
        : Float64Array.from(
            { length: each.numbers },
            (_, j) => ((j * 7919 + i * 31) % 7) - (each.format === "u4" ? 0 : 3),
          ),
    );
    expect([...computed(found, contents)]).toEqual(executed(kernel, contents));
  });

  it("are found with many terms", () => {
    const { count, terms } = sumsIn(tiledProduct(16, 24, 4096));
    expect([count, terms.map(({ size }) => size)]).toEqual([16 * 24, [4096]]);
  });

  it("are found in a kernel that loads beyond the end of a buffer what it does not use", () => {
    expect(sumsIn(prefetchedProduct(19, 16, 12))).toEqual(sumsIn(tiledProduct(19, 16, 12)));
  });

  it.each([
    [4, 4, 1],
    [8, 3, 1],
    [3, 9, 1],
    [64, 65, 1],
  ] as const)("are found where workgroups of the grid %s, %s, %s store nothing", (...grid) => {
    const kernel = plainProduct(19, 21, 10);
    expect(sumsIn({ ...kernel, grid })).toEqual(sumsIn(kernel));
  });

  it("are found where a grid ends within its last row", () => {
    const flat = plainProduct(19, 21, 10);
    const body = `@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.y * 64u + id.x;
  if (i >= 399u) { return; }
  var sum = 0.0;
  for (var k = 0u; k < 10u; k++) { sum += a[i / 21u * 10u + k] * b[k * 21u + i % 21u]; }
  c[i] = sum;
}`;
    const source = `${flat.source.slice(0, flat.source.indexOf("@compute"))}${body}`;
    for (const grid of [
      [8, 7, 1],
      [8, 20, 3],
    ] as const) {
      const { count, results } = sumsIn({ ...flat, source, grid });
      expect([count, results.map(({ size }) => size)]).toEqual([399, [21, 19]]);
    }
  });

  it.each([
    { images: 1, size: 257, channels: 3, filters: 32, window: 3, stride: 2, padding: 1 },
    { images: 1, size: 64, channels: 1, filters: 32, window: 3, stride: 1, padding: 1 },
    { images: 3, size: 45, channels: 2, filters: 4, window: 3, stride: 1, padding: 1 },
    { images: 2, size: 64, channels: 1, filters: 8, window: 5, stride: 1, padding: 2 },
  ])("are found with terms that are missing at the edges only of $images images of $size", (shape) => {
    const { windows, count } = sumsIn(convolution(shape));
    const { images, size, filters, stride, padding } = shape;
    const out = Math.floor((size + 2 * padding - shape.window) / stride) + 1;
    const edges = windows.map(({ unit, size: period }) => unit * period);
    expect(edges).toEqual([filters * out, filters * out * out]);
    expect(images * filters * out * out).toBe(count);
  });

  it("are found in a convolution of each channel, whose edges could begin at other weights", () => {
    const source = `@group(0) @binding(0) var<storage, read> image: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  for (var i = 4u * id.x; i < 4u * id.x + 4u; i++) { c[i] = result(vec3i(vec3u(i % 32u, i / 32u % 16u, i / 512u))); }
}
fn result(at: vec3i) -> f32 {
  var sum = 0.0;
  for (var tap = 0; tap < 9; tap++) {
    let y = at.z + tap / 3 - 1;
    let x = at.y + tap % 3 - 1;
    if (x >= 0 && x < 16 && y >= 0 && y < 16) { sum += image[(y * 16 + x) * 32 + at.x] * weights[tap * 32 + at.x]; }
  }
  return sum;
}`;
    const buffers = [{ numbers: 16 * 16 * 32 }, { numbers: 9 * 32 }, { numbers: 16 * 16 * 32 }];
    const { windows, results } = sumsIn({ name: "", source, grid: [8, 1, 1], buffers });
    expect(results.map(({ size, left, right }) => [size, left, right])).toEqual([
      [32, 1, 1],
      [256, 32, 0],
    ]);
    expect(windows.map(({ unit, size }) => unit * size)).toEqual([512, 8192]);
  });

  it.each([
    ["Kahan", "let y = x - error; let t = sum + y; error = (t - sum) - y; sum = t;", "sum"],
    [
      "Knuth",
      "let t = sum + x; let z = t - sum; error += (sum - (t - z)) + (x - z); sum = t;",
      "sum + error",
    ],
  ])("are found in sums that carry their errors along, with more roundings: %s", (_, step, result) => {
    const plain = plainProduct(8, 8, 16);
    const { terms, roundings } = sumsIn({
      ...plain,
      source: `@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  var sum = 0.0;
  var error = 0.0;
  for (var k = 0u; k < 16u; k++) {
    let x = a[i / 8u * 16u + k] * b[k * 8u + i % 8u];
    ${step}
  }
  c[i] = ${result};
}`,
      grid: [1, 1, 1],
    });
    expect(terms.map(({ size }) => size)).toEqual([16]);
    // Each addition may be rounded, and the error of each may be added wrongly.
    expect(roundings).toBeGreaterThanOrEqual(3 * 15);
    expect(roundings).toBeLessThan(8 * 16);
  });

  it("are found with the factors by which numbers in between are scaled", () => {
    const scaled = (text: string) => sumsIn(bodyOf(`c[i] = ${text};`)).scaling;
    expect(scaled("a[i] * a[i + 1]")).toBe(1);
    expect(scaled("0.25 * (a[i] * a[i + 1])")).toBe(4);
    expect(scaled("(0.25 * a[i]) * (0.5 * a[i + 1]) * 16.0")).toBe(16);
    expect(scaled("(8.0 * a[i]) * a[i + 1]")).toBe(8);
  });

  it.each([
    ["quantizeToF16(a[i]) * a[i + 1]", "f16"],
    ["quantizeToF16(a[i] * a[i + 1])", "f16"],
    ["a[i] * a[i + 1]", "f32"],
  ])("are found with the format of their roundings: %s", (text, precision) => {
    expect(sumsIn(bodyOf(`c[i] = ${text};`)).precision).toBe(precision);
  });

  const hidden = "numbers cancel in it that its results do not have";
  const bodyOf = (body: string): ProductKernel => ({
    name: "",
    source: `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`,
    grid: [2, 1, 1],
    buffers: [{ numbers: 64 }, { numbers: 16 }],
  });

  it.each([
    ["c[i] = max(a[i] * a[i + 1], 0.0);", "its results are no sums of products, or too long ones"],
    ["c[i] = a[i] * a[i + 1] * a[i + 2];", "its products have three factors"],
    ["c[i] = a[i] + a[i + 1];", "its results have no products of loaded numbers"],
    ["c[i] = a[i] * a[i + 1] + 1.0;", "it adds constants"],
    ["c[i] = a[i] * a[i + 1] + 2.0 * a[i + 2] * a[i + 3];", "its terms have weights"],
    ["c[i] = a[i] * a[i + 1] + f32(i + 1) * a[i + 2];", "it scales what it adds by several factors"],
    ["c[i] = a[i] * a[i + 1] + c[(i + 1) % 16];", "it adds results to other ones"],
    ["c[i] = a[i] * c[i];", "its results are factors of others"],
    ["if (a[i] > 0.0) { c[i] = a[i] * a[i]; }", "its control or its addresses depend on the data"],
    ["if (i > 99) { c[i] = a[i]; }", "the sampled workgroups store nothing"],
    ["c[i] = a[i] * a[(i * i) % 13];", "the addresses of its results have no pattern"],
    ["for (var j = 0u; j < 1u; ) { c[i] = a[j]; }", "too many iterations, calls and invocations"],
    ["c[i * 16] = a[i] * a[i];", "it stores out of bounds"],
    ["let q = 1e10 * a[i + 2]; c[i] = (a[i] * a[i + 1] + q) - q;", hidden],
    ["let q = a[i + 2]; c[i] = a[i] * a[i + 1] + (q - q);", hidden],
    ["let q = 1e10 * a[i + 2]; c[i] = ((a[i] + q) - q) * a[i + 1];", hidden],
    ["let old = c[i]; c[i] = (old + a[i] * a[i + 1]) - old;", hidden],
    ["c[i] = (a[i] * a[i + 1] + 1e10) - 1e10;", "it adds constants"],
    ["c[i] = (1e-25 * a[i]) * (1e-15 * a[i + 1]) * 1e30 * 1e10;", "it scales numbers too far up and down"],
    ["c[i] = (1e25 * a[i]) * (1e15 * a[i + 1]) * 1e-30 * 1e-10;", "it scales numbers too far up and down"],
    ["c[i] = (1e-25 * a[i]) * (1e25 * a[i + 1]);", "it scales numbers too far up and down"],
    ["c[i] = a[i + 60] * a[i];", "its results are no sums of products, or too long ones"],
  ])("are not found in a kernel with %s", (body, reason) => {
    expect(findIn(bodyOf(body))).toEqual({ reason });
  });

  it("are not found where the grid, a size or a word is not known, or the module has an error", () => {
    const kernel = plainProduct(8, 8, 8);
    expect(findIn({ ...kernel, buffers: kernel.buffers.slice(1) })).toEqual({
      reason: 'the size of "c" is not known',
    });
    expect(findIn({ ...kernel, source: "fn f( {" })).toHaveProperty("reason");
    const words = kernel.buffers.map((each, i) => (i === 0 ? { words: [8, 8] } : each));
    expect(findIn({ ...kernel, buffers: words })).toEqual({
      reason: "it loads integers that the host does not know",
    });
  });
});
