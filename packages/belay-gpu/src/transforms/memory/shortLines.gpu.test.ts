import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { runCoded } from "../../../../../test/support/kernels/codedKernels.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { protect } from "../../compiler/protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const kernel = (type: string, body: string, declarations = "") => `${declarations}
  @group(0) @binding(0) var<storage, read> a: array<${type}>;
  @group(0) @binding(1) var<storage, read_write> b: array<${type}>;
  @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`;
const guarded = (code: string, memory: "secded64" | "secded128", features = ["subgroups"]) =>
  protect(code, { redundancy: "none", memory, features });
const words = (length: number, seed: number) =>
  Uint32Array.from({ length }, (_, i) => Math.imul(i + seed, 0x9e3779b9));
const input = { buffers: { 0: words(44, 1), 1: words(44, 2) }, workgroups: [3, 1, 1] as const };
const modesOf = (code: string, features?: string[]) =>
  guarded(code, "secded128", features).entryPoints[0]!.memory!.bindings.map(({ mode }) => mode);

describe.each(["secded64", "secded128"] as const)("%s", (memory) => {
  it.each([
    ["in order", "u32", "b[i] = a[i];"],
    ["in rows of the host's width", "u32", "if (i < 14u) { b[i + arrayLength(&a)] = a[i]; }"],
    ["by some of the lanes", "u32", "if (i % 3u != 1u && i < 21u) { b[i + 4u] = a[i]; }"],
    ["in two dimensions", "i32", "b[(i % 4u) + 8u * (i / 4u)] = a[i];"],
    ["of pairs", "vec2i", "if (i < 19u) { b[i] = a[21u - i].yx; }"],
    ["out of bounds, which are dropped", "u32", "b[i + 32u] = a[i];"],
    [
      "in branches of a function",
      "u32",
      "f(i);",
      "fn f(i: u32) { if (a[i] % 2u == 0u) { return; } b[i] = i; }",
    ],
  ])("keeps the check words of stores %s", async (_, type, body, declarations = "") => {
    const code = kernel(type, body, declarations);
    const result = guarded(code, memory);
    expect(result.diagnostics).toEqual([]);
    const lengths = { ...input.buffers, ...(body.includes("arrayLength") && { 0: words(27, 1) }) };
    const own = { ...input, buffers: lengths };
    const output = await runCoded(device, result, own);
    // Where subgroups share a granule, one may find the other half way: a suspect, but no error.
    expect([output.corrected, output.uncorrectable, output.unfit]).toEqual([0, 0, []]);
    const isInBounds = !body.includes("32u");
    const plain = await runKernel(device, code, own);
    const end = isInBounds ? 44 : 43;
    expect(output.buffers[1]!.subarray(0, end)).toEqual(plain.buffers[1]!.subarray(0, end));
  });
});

it("keeps the check words of whole granules beside", async () => {
  const code = `
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<vec2u>;
    @group(0) @binding(2) var<storage, read_write> c: array<vec4u>;
    @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
      c[i] = c[i].wzyx + a[i];
      if (i != 3u) { b[i] = vec2u(a[i], c[i].x); }
    }`;
  const wide = {
    buffers: { 0: words(9, 1), 1: words(18, 2), 2: words(34, 3) },
    workgroups: [1, 1, 1] as const,
  };
  const flip = { binding: 0, word: 2, mask: 8 };
  const output = await runCoded(device, guarded(code, "secded128"), wide, [flip]);
  expect([output.uncorrectable, output.suspect, output.unfit]).toEqual([0, 0, [0]]);
  expect(output.buffers).toMatchObject({
    ...(await runKernel(device, code, wide)).buffers,
    0: expect.anything(),
  });
});

it("suspects a granule of which a part is stored that was wrong, and leaves its check word right", async () => {
  const result = guarded(kernel("u32", "if (i < 14u) { b[i] = a[i]; }"), "secded128");
  for (const [word, suspect, unfit] of [
    [2, 0, []],
    [13, 1, []],
    [15, 0, [1]],
    [20, 0, [1]],
  ] as const) {
    const output = await runCoded(device, result, input, [{ binding: 1, word, mask: 64 }]);
    expect([output.corrected, output.uncorrectable, output.suspect, output.unfit]).toEqual([
      0,
      0,
      suspect,
      unfit,
    ]);
  }
});

it.each([
  ["more than once", "b[i] = 1u; b[i] = a[i];"],
  ["in a loop", "for (var k = 0u; k < 2u; k++) { b[i + k] = a[i]; }"],
  ["to what is loaded", "b[i] = b[i + 4u] + a[i];"],
  ["in reverse", "b[23u - i] = a[i];"],
  ["to one place", "b[0] = a[i];"],
])("leaves to the host what is stored %s", (_, body) => {
  expect(modesOf(kernel("u32", body)).sort()).toEqual(["checked", "passVerified"]);
});

it("leaves such stores to the host without subgroups", () => {
  expect(modesOf(kernel("u32", "b[i] = a[i];"), []).sort()).toEqual(["checked", "passVerified"]);
});
