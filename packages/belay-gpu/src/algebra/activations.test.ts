import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DawnValidator, startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import { createReference, createReferenceBuffer } from "../reference/index.ts";
import { checkKernels, reportSize, reportWords } from "./checkKernels.ts";
import { type FoundSums, searchSums } from "./sumsOfProducts.ts";

const [rows, columns, terms] = [9, 10, 12];

/** Returns a product that stores something in a format. */
const product = (value: string, format = "f16") => `enable f16;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<${format}>;
@group(0) @binding(3) var<storage, read> beside: array<f16>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= ${columns}u || id.y >= ${rows}u) { return; }
  let at = id.y * ${columns}u + id.x;
  var sum = 0.0;
  for (var i = 0u; i < ${terms}u; i++) { sum += a[id.y * ${terms}u + i] * b[i * ${columns}u + id.x]; }
  c[at] = ${value};
}`;
const grid = [Math.ceil(columns / 8), Math.ceil(rows / 8), 1] as const;
const bytes = [4 * rows * terms, 4 * terms * columns, 2 * rows * columns, 2 * rows * columns];

/** Returns what is found in a kernel with results in f16. */
function foundIn(source: string): FoundSums {
  const search = searchSums({ source }, { grid, sizeOf: ({ binding }) => bytes[binding], wordAt: () => 0 });
  for (;;) {
    const { done, value } = search.next();
    if (!done) continue;
    if ("reason" in value) throw new Error(value.reason);
    return value;
  }
}

/** Executes an entry point on buffers, by their bindings. */
function execute(
  source: string,
  entryPoint: string,
  workgroups: readonly number[],
  buffers: Readonly<Record<number, Uint8Array>>,
): void {
  const reference = createReference({ source, entryPoint }, { floats: "nearest" });
  if ("construct" in reference) throw new Error(reference.construct);
  const [x = 1, y = 1, z = 1] = workgroups;
  const bound = Object.entries(buffers).map(([binding, each]) => {
    const buffer = createReferenceBuffer(each);
    return { group: 0, binding: Number(binding), each, buffer };
  });
  expect(reference.run({ workgroups: [x, y, z], buffers: bound })).toEqual({});
  for (const { each, buffer } of bound) each.set(buffer.bytes);
}

const bytesOf = (numbers: ArrayBufferView) => new Uint8Array(numbers.buffer);

describe("checks of results in f16", () => {
  let dawn: DawnValidator;
  beforeAll(async () => {
    dawn = await startDawn();
  });
  afterAll(() => dawn.close());

  /** Executes a kernel, flips a bit of a result, and returns the mismatches of its check. */
  async function mismatchesIn(value: string, bit?: number): Promise<number> {
    const source = product(value);
    const { sums, activation } = foundIn(source);
    const numbers = (count: number) =>
      Float32Array.from({ length: count }, (_, i) => Math.sin(1 + i * 12.9898));
    const factors = { 0: bytesOf(numbers(rows * terms)), 1: bytesOf(numbers(terms * columns)) };
    // Halves from 1 to 2.
    const beside = bytesOf(Uint16Array.from({ length: rows * columns }, (_, i) => 0x3c00 + 7 * i));
    const [results, kept] = [new Uint8Array(bytes[2]!), new Uint8Array(2 * bytes[2]!)];
    execute(source, "main", grid, { ...factors, 2: results, 3: beside });
    execute(product("sum", "f32"), "main", grid, { ...factors, 2: kept, 3: beside });
    if (bit !== undefined) results[2 * 31 + (bit >> 3)]! ^= 1 << (bit & 7);
    const kernels = checkKernels(sums, kept.length, { activation });
    expect(await dawn.validateAll([kernels.source])).toEqual([{ ok: true }]);
    const report = new Uint8Array(reportSize);
    const work = { 4: new Uint8Array(kernels.combinedBytes), 5: report, 6: bytesOf(Uint32Array.of(7, 0)) };
    const others = activation!.others.length > 0 ? { 10: beside } : {};
    const all = { ...factors, 2: kept, 9: results, ...work, ...others };
    execute(kernels.source, "combine", kernels.combine, all);
    execute(kernels.source, "compare", kernels.compare, all);
    const words = new Uint32Array(report.buffer);
    expect(words[reportWords.compared]).toBe(kernels.compared);
    return words[reportWords.mismatches]!;
  }

  it.each([
    "f16(max(sum, 0.0))",
    "max(f16(sum), 0.0h)",
    "f16(sum) / (1.0h + exp(-f16(sum)))",
    "select(0.25h * f16(sum), f16(sum), sum > 0.0)",
    "f16(max(sum, 0.0)) + beside[at]",
    "f16(max(sum, 0.0) + f32(beside[id.x]))",
    "f16(f32(f16(sum)) * sum)",
  ])("agree with functions of f32 sums, and find each bit: %s", async (value) => {
    expect(await mismatchesIn(value)).toBe(0);
    for (const bit of [0, 7, 15]) expect(await mismatchesIn(value, bit)).toBe(1);
  });
});
