import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { runCoded } from "../../../../../test/support/kernels/codedKernels.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { type CompilerOptions, reportWords } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/**
 * A binding of every kind, two entry points, a size that an override decides, and functions with
 * pointers.
 */
const code = `
  override width: u32 = 8;
  struct Shape { columns: u32, turns: u32 }
  @group(0) @binding(0) var<uniform> shape: Shape;
  @group(0) @binding(1) var<storage, read> a: array<u32>;
  @group(0) @binding(2) var<storage, read_write> sums: array<vec4u>;
  @group(0) @binding(3) var<storage, read_write> state: array<vec4u>;
  @group(0) @binding(4) var<storage, read_write> count: array<atomic<u32>, 4>;
  var<workgroup> tile: array<u32, width>;
  fn turn(p: ptr<storage, vec4u, read_write>) -> u32 { *p = (*p).yzwx + 1u; return (*p).x; }
  @compute @workgroup_size(width)
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
    var sum = 0u;
    for (var i = 0u; i < shape.turns; i++) {
      tile[l] = a[(id.x + i) % arrayLength(&a)];
      workgroupBarrier();
      sum += tile[width - 1u - l] * shape.columns;
      workgroupBarrier();
    }
    sums[id.x] = vec4u(sum, turn(&state[id.x]), a[id.x], 0u);
    atomicAdd(&count[0], 1u);
  }
  @compute @workgroup_size(4) fn other(@builtin(global_invocation_id) id: vec3u) { state[id.x] = sums[id.x]; }`;

const words = (length: number, seed: number) =>
  Uint32Array.from({ length }, (_, i) => Math.imul(i + seed, 0x9e3779b9));
const input = {
  entryPoint: "main",
  workgroups: [2, 1, 1] as const,
  constants: { width: 8 },
  uniforms: { 0: Uint32Array.of(3, 4) },
  buffers: { 1: words(16, 1), 2: words(64, 2), 3: words(64, 3), 4: new Uint32Array(4) },
};
const flips = [
  { binding: 1, word: 6, mask: 1 << 9 },
  { binding: 3, word: 21, mask: 1 << 30 },
  { binding: 3, word: 3, mask: 4, inChecks: true },
] as const;

const flavors: readonly CompilerOptions[] = [
  { redundancy: "none" },
  { redundancy: "intra+lds", check: "store", channel: "subgroup" },
  { redundancy: "intra-lds", check: "signature", pairing: "half-subgroup" },
  { redundancy: "inter", check: "signature", injectFaults: true },
];

describe.each(flavors)("$redundancy, $check, $pairing", (flavor) => {
  const memoryBindings = { arena: { group: 1, binding: 7 }, table: { group: 1, binding: 3 } };
  const options = {
    ...flavor,
    features: ["subgroups"],
    constants: input.constants,
    memory: "secded128",
  } as const;
  const result = protect(code, { ...options, memoryBindings });

  it("corrects what it loads, once for both replicas, and detects nothing else", async () => {
    const uniforms = [{ group: 0, binding: 0, words: new Uint32Array([3, 4, 0, 0]), uniform: true }];
    const plain = await runKernel(device, code, input, {}, { bound: uniforms });
    const output = await runCoded(device, result, input, flips);
    for (const binding of [2, 3, 4] as const) expect(output.buffers[binding]).toEqual(plain.buffers[binding]);
    expect([output.uncorrectable, output.suspect, output.unfit]).toEqual([0, 0, [1]]);
    expect(output.report[reportWords.detections]).toBe(0);
    expect(output.corrected).toBeGreaterThan(0);
  });

  it("tells its host what to do about each binding", () => {
    const memory = Object.fromEntries(result.entryPoints.map(({ name, memory }) => [name, memory]));
    const modes = (name: string) =>
      Object.fromEntries(
        memory[name]!.bindings.map(({ of, mode, loads, stores }) => [of.binding, [mode, loads, stores]]),
      );
    expect(memory.main!.checks).toEqual({ ...memoryBindings, storesChecks: true, tableBytes: 80 });
    expect(modes("main")).toMatchObject({
      0: ["checked", true, false],
      1: ["checked", true, false],
      2: ["checked", false, true],
      3: ["checked", true, true],
      4: ["passVerified", true, true],
    });
    expect(modes("other")).toEqual({ 2: ["checked", true, false], 3: ["checked", false, true] });
    expect(result.diagnostics.map(({ code }) => code)).toContain("BELAY216");
  });
});

it("leaves all to the host where the device has no storage buffer left for check words", () => {
  const limits = { maxStorageBuffersPerShaderStage: 5 };
  const { entryPoints } = protect(code, { redundancy: "none", memory: "secded32", limits });
  const modes = entryPoints.map(({ memory }) => new Set(memory!.bindings.map(({ mode }) => mode)));
  expect(modes).toEqual([new Set(["passVerified"]), new Set(["checked"])]);
});
