/** Replicas with different texts compute the same bits on a device, and validators accept them. */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { barrierKernel } from "../../../../test/support/kernels/barrierKernels.ts";
import { featureKernels } from "../../../../test/support/kernels/featureKernels.ts";
import { runTwins } from "../../../../test/support/kernels/kernelRunner.ts";
import { everything, sample } from "../../../../test/support/sample.ts";
import { startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import { twoTexts } from "../transforms/diversity/index.ts";
import { type CompilerOptions, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { sharedDevice } = testDevices({ full: true });

const flavors = [{ redundancy: "inter" }, { redundancy: "intra+lds", pairing: "passes" }] as const;

const kernels = featureKernels.flatMap((kernel, row) =>
  sample(flavors, Math.floor(row / 2), 1).map((flavor) => ({ ...kernel, ...flavor, flavor })),
);
it.each(everything ? kernels : kernels.filter((_, i) => i % 2 === 0))(
  "$redundancy, $name: same bits, no detection",
  async ({ flavor, ...kernel }) => {
    const { code, constants = {} } = kernel;
    const result = protect(code, { ...flavor, diversity: twoTexts, features: ["subgroups"], constants });
    expect(result.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    if (result.entryPoints.some(({ redundancy }) => redundancy === "none")) return;
    expect(result.code).toContain("second_text");
    const device = await sharedDevice();
    const plain = await runTwins(device, code, kernel);
    const output = await runTwins(device, result, kernel);
    expect(output.report[reportWords.detections]).toBe(0);
    expect(output.cells.every((cell) => cell === 0)).toBe(true);
    for (const binding of Object.keys(plain.buffers).map(Number)) {
      if (kernel.unordered?.includes(binding))
        for (const { buffers } of [plain, output]) buffers[binding]!.sort();
      expect(output.buffers[binding]).toEqual(plain.buffers[binding]);
    }
  },
);

it("rounds floats of all kinds alike, also subnormal ones, infinities and NaN", async () => {
  const code = `
    @group(0) @binding(0) var<storage, read> x: array<u32, 64>;
    @group(0) @binding(1) var<storage, read_write> out: array<vec4f, 4096>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      let a = bitcast<f32>(x[id.x % 64u]); let b = bitcast<f32>(x[id.x / 64u]);
      let m = mat3x3f(a, b, 1, b, 2, a, 3, a, b) * vec3f(a, b, a * b);
      var sum = vec3f(a * b + a, a * b - b * a, a / b + sin(a) * b);
      sum += m * a - dot(m, sum) * vec3f(b);
      out[id.x] = vec4f(sum, mix(a, b, 0.3) * b + sqrt(a) - pow(b, 1.5));
    }`;
  const words = Array.from({ length: 64 }, (_, i) => (i * 0x9e3779b1) >>> 0);
  const edges = [0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x807fffff, 0x3f800000, 0x7f7fffff];
  const input = {
    buffers: { 0: Uint32Array.from([...edges, ...words].slice(0, 64)), 1: new Uint32Array(4 * 4096) },
    workgroups: [64, 1, 1] as const,
  };
  const device = await sharedDevice();
  for (const flavor of flavors) {
    const output = await runTwins(device, protect(code, { ...flavor, diversity: twoTexts }), input);
    expect(output.report[reportWords.detections]).toBe(0);
    expect(output.cells.every((cell) => cell === 0)).toBe(true);
  }
});

it("takes zeros for the same whose signs a compiler ignores in one text, but no other values", async () => {
  const code = `
    struct Pair { one: f32, two: vec2f }
    @group(0) @binding(0) var<storage, read> x: array<vec3f, 64>;
    @group(0) @binding(1) var<storage, read_write> vectors: array<vec3f, 64>;
    @group(0) @binding(2) var<storage, read_write> pairs: array<Pair, 64>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      let v = x[id.x];
      let zeros = 0 - v;
      vectors[id.x] = zeros;
      pairs[id.x] = Pair(zeros.x, zeros.yz);
    }`;
  const input = {
    buffers: {
      0: Uint32Array.from({ length: 256 }, (_, i) => (i % 3 === 0 ? 0x80000000 : 0)),
      1: new Uint32Array(256),
      2: new Uint32Array(256),
    },
    workgroups: [1, 1, 1] as const,
  };
  const device = await sharedDevice();
  for (const flavor of flavors) {
    const made = protect(code, { ...flavor, diversity: twoTexts });
    const differs = async (compiled: string) => {
      expect(made.code).toContain("(0 - v,");
      const compiledOnce = made.code.replace("0 - v", compiled);
      const { report, cells } = await runTwins(device, { ...made, code: compiledOnce }, input);
      return report[reportWords.detections]! > 0 || cells.some((cell) => cell !== 0);
    };
    expect(await differs("-v")).toBe(false);
    expect(await differs("-v + vec3f(0, 0.5, 0)")).toBe(true);
  }
});

it("keeps uniform what barriers depend on", async () => {
  const dawn = await startDawn();
  try {
    const valid = async (codes: readonly string[]) => (await dawn.validateAll(codes)).map(({ ok }) => ok);
    const all = Array.from({ length: 16 }, (_, seed) => barrierKernel(seed));
    const accepted = await valid(all);
    const sources = all.filter((_, i) => accepted[i]);
    const made = sources.map((code, i) => protect(code, { ...flavors[i % 2]!, diversity: twoTexts }));
    expect(made.filter(({ code }) => code.includes("second_text")).length).toBeGreaterThan(4);
    expect(await valid(made.map(({ code }) => code))).toEqual(sources.map(() => true));
  } finally {
    dawn.close();
  }
});

describe("diversity", () => {
  const code =
    "@group(0) @binding(0) var<storage, read_write> x: array<u32>; @compute @workgroup_size(64) fn f(@builtin(global_invocation_id) id: vec3u) { x[id.x] += 1u; }";
  const chosen = (options: CompilerOptions) => protect(code, { ...options, diversity: twoTexts });

  it.each([{ redundancy: "auto" }, {}, { redundancy: "auto", cover: ["SU"] }] as const)(
    "with %o runs in passes",
    (options) => {
      expect(chosen(options).code).toContain("belay_pass");
    },
  );

  it.each([{ check: "store" }, { redundancy: "auto", check: "store" }, { redundancy: "inter" }] as const)(
    "with %o runs in workgroups of its own",
    (options) => {
      expect(chosen(options).code).toContain("belay_twin_of");
      expect(chosen(options).code).toContain("second_text");
    },
  );

  it.each(["adjacent", "half-subgroup", "subgroups"] as const)("excludes the pairing %s", (pairing) => {
    const { diagnostics } = chosen({
      redundancy: "intra+lds",
      pairing,
      features: ["subgroups"],
      channel: pairing === "subgroups" ? "workgroup" : "auto",
    });
    expect(diagnostics.map(({ message }) => message)).toEqual([
      `the pairing ${pairing} excludes this diversity: replicas that run together cannot have different texts`,
    ]);
  });
});
