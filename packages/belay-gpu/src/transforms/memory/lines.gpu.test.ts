import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { type Flip, runCoded } from "../../../../../test/support/kernels/codedKernels.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { reportWords } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";
import type { SchemeName } from "../../ecc/scheme.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const kernel = (type: string, body: string) => `
  @group(0) @binding(0) var<storage, read> a: array<${type}>;
  @group(0) @binding(1) var<storage, read_write> b: array<${type}>;
  @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`;
const guarded = (code: string, memory: SchemeName, features = ["subgroups"]) =>
  protect(code, { redundancy: "none", memory, features });
const words = (length: number, seed: number) =>
  Uint32Array.from({ length }, (_, i) => Math.imul(i + seed, 0x9e3779b9));
/**
 * The bodies of kernels. The last two suffice if a line has more pieces than a subgroup of the
 * software adapter has lanes.
 */
const bodies = [
  ["in order", "b[i] = a[i];"],
  ["by some of the lanes", "if (i % 3u != 1u) { b[i] = a[i]; }"],
  ["up to a bound", "if (i < 21u) { b[i] = a[i]; }"],
  ["after a return", "if (i % 8u == 5u) { return; } b[i] = a[i];"],
  ["to two lines", "b[i + 32u] = a[i]; b[i] = a[i + 8u];"],
  ["out of bounds, which are dropped", "b[i + 64u] = a[i];"],
] as const;

/** Lanes that share a line: two, four, and more than a subgroup of the software adapter has. */
const shapes = [
  ["secded256", "vec4u", 4],
  ["secded256", "vec2u", 2],
  ["secded256", "u32", 1],
  ["secded1024", "vec4u", 4],
] as const;

describe.each(shapes)("%s of %s", (memory, type, size) => {
  const elements = 67;
  const input = {
    buffers: { 0: words(elements * size, 1), 1: words(elements * size, 2) },
    workgroups: [4, 1, 1] as const,
  };

  it.each(memory === "secded1024" ? bodies.slice(-2) : bodies)(
    "keeps the check words of stores %s",
    async (_, body) => {
      const code = kernel(type, body);
      const result = guarded(code, memory);
      expect(result.diagnostics).toEqual([]);
      const output = await runCoded(device, result, input);
      expect([output.corrected, output.uncorrectable, output.unfit]).toEqual([0, 0, []]);
      // Without protection, what is out of bounds goes to the last element.
      const end = size * (body.includes("64u") ? elements - 1 : elements);
      const plain = await runKernel(device, code, input);
      expect(output.buffers[1]!.subarray(0, end)).toEqual(plain.buffers[1]!.subarray(0, end));
    },
  );

  it.each([
    ["one", "if (i < 21u) { b[i] = a[i]; }"],
    [
      "several",
      "if (i < 8u) { let x = a[i] + a[i + 8u] + a[i + 16u]; b[i] = x; b[i + 8u] = x + 1u; b[i + 16u] = a[i + 24u]; }",
    ],
  ])(
    "corrects a flip in any piece of a line, and in its check word, and flags two: %s at once",
    async (_, body) => {
      const code = kernel(type, body);
      const result = guarded(code, memory);
      const plain = await runKernel(device, code, input);
      for (const word of [0, 3, 7, 8, 13, 20]) {
        const bit = 2 ** ((7 * word + 3) % 31);
        const flips: Flip[] = [{ binding: 0, word, mask: bit }];
        const one = await runCoded(
          device,
          result,
          input,
          word === 3 ? [{ binding: 0, word: 0, mask: bit, inChecks: true }] : flips,
        );
        expect(one.corrected).toBeGreaterThan(0);
        expect([one.uncorrectable, one.suspect, one.buffers[1]]).toEqual([0, 0, plain.buffers[1]]);
        const two = await runCoded(device, result, input, [
          ...flips,
          { binding: 0, word: word ^ 1, mask: 4 * bit },
        ]);
        expect([two.corrected, two.uncorrectable > 0]).toEqual([0, true]);
      }
    },
  );
});

it("is kept by whole replicas", async () => {
  const code = kernel("vec2u", "if (i < 30u) { let x = a[i] + a[i + 32u]; b[i] = x; b[i + 32u] = a[i]; }");
  const features = ["subgroups"];
  const result = protect(code, { redundancy: "inter", memory: "secded256", features });
  expect(result.entryPoints[0]!.memory!.bindings.map(({ mode }) => mode)).toEqual(["checked", "checked"]);
  const input = { buffers: { 0: words(128, 1), 1: words(128, 2) }, workgroups: [4, 1, 1] as const };
  const plain = await runKernel(device, code, input);
  for (const flips of [[], [{ binding: 0, word: 13, mask: 1 << 20 }]]) {
    const output = await runCoded(device, result, input, flips);
    expect([output.uncorrectable, output.suspect, output.unfit.includes(1)]).toEqual([0, 0, false]);
    expect([output.corrected > 0, output.report[reportWords.detections]]).toEqual([flips.length > 0, 0]);
    expect(output.buffers[1]).toEqual(plain.buffers[1]);
  }
});

describe("a check that is broken", () => {
  const code = kernel("vec4u", "if (i < 8u) { b[i] = a[i] + a[i + 8u]; }");
  const input = { buffers: { 0: words(64, 1), 1: words(64, 2) }, workgroups: [1, 1, 1] as const };
  const run = async (change: (code: string) => string, word: number) => {
    const result = guarded(code, "secded256");
    expect(change(result.code)).not.toBe(result.code);
    const plain = await runKernel(device, code, input);
    const broken = { ...result, code: change(result.code) };
    const output = await runCoded(device, broken, input, [{ binding: 0, word, mask: 64 }]);
    return [output.buffers[1]!.join() === plain.buffers[1]!.join(), output.unfit.includes(1)];
  };

  it("is one of which the lanes are told, that have the pieces of a wrong line", async () => {
    // The first lane looks at the first line, and the second one has the wrong piece.
    expect(await run((text) => text.replace(/subgroupAny\(([^;]+)\);/, "$1;"), 4)).toEqual([false, false]);
    expect(await run((text) => `${text} `, 4)).toEqual([true, false]);
  });

  it("is one that keeps what other lanes have", async () => {
    expect(
      await run((text) => text.replace(/(fn belay_sum_1[^}]*) \^= subgroupShuffleXor[^;]*;/, "$1 ^= 0u;"), 0),
    ).toEqual([true, true]);
  });
});
