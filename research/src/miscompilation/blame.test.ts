import { blame } from "belay-gpu/internal/blame/blame";
import { disputeFrom } from "belay-gpu/internal/blame/dispute";
import type { Dispute } from "belay-gpu/qualify";
import { expect, it } from "vitest";
import { testDevices } from "../../../test/support/devices/testDevices.ts";
import { lyingDevice } from "./lyingDevice.ts";
import { mistakes } from "./mistakes.ts";

const devices = testDevices({ full: true });
/** Cutting down ends by itself. */
const milliseconds = Number.POSITIVE_INFINITY;
const mistake = mistakes.find(({ name }) => name === "clamp without the lower limit")!;
const lying = (device: GPUDevice) => lyingDevice(device, mistake, "clamp i32");

const dispute: Dispute = {
  source: `
    @group(0) @binding(0) var<storage, read> a: array<i32>;
    @group(0) @binding(1) var<storage, read_write> out: array<i32>;
    @group(0) @binding(2) var<storage, read_write> sums: array<i32>;
    fn twice(x: i32) -> i32 { return 2 * x; }
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      var sum = 0;
      for (var k = 0u; k < 4u; k++) { sum += twice(a[(id.x + k) % 16u]); }
      sums[id.x] = sum;
      out[id.x] = clamp(a[id.x], -3, 5) + sum * 3;
    }`,
  workgroups: [2, 1, 1],
  buffers: [0, 1, 2].map((binding) => ({
    group: 0,
    binding,
    words: Array.from({ length: 16 }, (_, i) => (binding === 0 ? (i * 5 - 40) >>> 0 : 0)),
  })),
};

it("blames a driver whose results others do not share, and cuts the kernel down", async () => {
  const device = await devices.sharedDevice();
  const verdict = await blame(dispute, { device: lying(device), software: device, milliseconds });
  expect(verdict.culprit).toBe("driver");
  expect(verdict.evidence.otherText?.outcome).toBe("agrees");
  expect(verdict.dispute.workgroups).toEqual([1, 1, 1]);
  expect(verdict.dispute.source).toContain("clamp");
  expect(verdict.dispute.source).not.toMatch(/sums|twice|for/);
});

it("cuts a kernel down whose second text is computed wrong, and runs the first one", async () => {
  const device = await devices.sharedDevice();
  const textFor = (source: string) => source.replace(/\b5\)/, "4)");
  const verdict = await blame(dispute, { device, textFor, milliseconds });
  expect(verdict.culprit).toBe("driver or implementation");
  expect(verdict.evidence.otherText?.outcome).toBe("agrees");
  expect(verdict.dispute.source).toContain("5)");
  expect(verdict.dispute.source).not.toMatch(/sums|twice|for/);
});

it("blames the implementation if two drivers share a mistake", async () => {
  const device = await devices.sharedDevice();
  const both = lying(device);
  expect((await blame(dispute, { device: both, software: both, milliseconds: 0 })).culprit).toBe(
    "implementation",
  );
});

it("blames the hardware if results differ from run to run", async () => {
  const device = await devices.sharedDevice();
  let modules = 0;
  const unsteady = new Proxy(device, {
    get(target, name) {
      const of = name === "createShaderModule" && modules++ % 2 === 0 ? lying(target) : target;
      const value = Reflect.get(of, name, of);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
  expect((await blame(dispute, { device: unsteady, software: device, milliseconds: 0 })).culprit).toBe(
    "hardware",
  );
});

it("blames a kernel with a race, and says where", async () => {
  const device = await devices.sharedDevice();
  const source = dispute.source.replace("sums[id.x] = sum;", "sums[0] = sum;");
  const verdict = await blame({ ...dispute, source }, { device, software: device, milliseconds });
  expect(verdict.culprit).toBe("kernel");
  expect(verdict.evidence.kernel).toContain("race");
  expect(verdict.dispute.source).not.toContain("clamp");
});

it("judges a part of a grid that takes the executor long", async () => {
  const device = await devices.sharedDevice();
  const source = dispute.source
    .replace("k < 4u", "k < 4096u")
    .replaceAll("[id.x]", "[id.x % 16u]")
    .replace("{\n      var sum", "{\n      if (id.x >= 16u) { return; }\n      var sum");
  const large: Dispute = { ...dispute, source, workgroups: [60000, 1, 1] };
  const { culprit } = await blame(large, { device: lying(device), software: device, milliseconds: 0 });
  expect(culprit).toBe("driver");
  await expect(blame(large, { device })).rejects.toThrow(
    /^the dispatch of 60000 × 1 × 1 workgroups takes .*, and the results of \d+ × 1 × 1 of its workgroups are right$/,
  );
});

it("blames nobody for a workgroup without an end, and says where", async () => {
  const device = await devices.sharedDevice();
  const source = dispute.source.replace("k < 4u; k++", "k < 4u;").replace("twice(a", "(a");
  await expect(blame({ ...dispute, source }, { device })).rejects.toThrow(
    /the executor gives up: one workgroup does not end there \(line 8\)$/,
  );
});

it("blames a kernel of which the specification fixes no word", async () => {
  const device = await devices.sharedDevice();
  const source = `
    @group(0) @binding(0) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(1) fn main() { out[0] = 1.0 / out[1]; }`;
  const buffers = [{ group: 0, binding: 0, words: [0, 0] }];
  const { culprit, evidence } = await blame({ source, workgroups: [1, 1, 1], buffers }, { device });
  expect(culprit).toBe("kernel");
  expect(evidence.kernel).toContain("bounds no result");
});

it("blames nobody if the results are right", async () => {
  const device = await devices.sharedDevice();
  expect((await blame(dispute, { device, software: device })).culprit).toBe("nobody");
});

it("runs another text of a kernel that shares functions with other stages", async () => {
  const shared = dispute.source.replace(
    "fn twice(x: i32) -> i32 { return 2 * x; }",
    `var<private> calls = 0;
    fn once(x: i32) -> i32 { calls++; return x * calls; }
    fn twice(x: i32) -> i32 { return 2 * once(x); }
    fn unused() -> i32 { return once(5); }
    @vertex fn place() -> @builtin(position) vec4f { return vec4f(f32(twice(3))); }
    @fragment fn color() -> @location(0) vec4f { return vec4f(f32(once(4))); }`,
  );
  const device = await devices.sharedDevice();
  const { evidence } = await blame({ ...dispute, source: shared, entryPoint: "main" }, { device });
  expect(evidence.otherText).toEqual({ outcome: "agrees" });
});

it("takes the sign of a zero and the rounding of a quotient in another text for right", async () => {
  const source = `
    @group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      let x = a[id.x] * -0.0;
      out[id.x] = (x - (a[id.x] - a[id.x])) / 3.0 + sin(x);
    }`;
  const words = [...new Uint32Array(Float32Array.of(0, -0, 1, -1, 7, -7, 0.1, 1e6).buffer)];
  const buffers = [0, 1].map((binding) => ({ group: 0, binding, words }));
  const device = await devices.sharedDevice();
  const { culprit, evidence } = await blame({ source, workgroups: [1, 1, 1], buffers }, { device });
  expect(culprit).toBe("nobody");
  expect(evidence.otherText).toEqual({ outcome: "agrees" });
});

it("reads a dispute as JSON, and says what is wrong with one", () => {
  expect(disputeFrom(JSON.stringify(dispute))).toEqual(dispute);
  expect(() => disputeFrom("{")).toThrow("the dispute is no JSON");
  const read = (change: object) => () => disputeFrom(JSON.stringify({ ...dispute, ...change }));
  const [buffer] = dispute.buffers;
  for (const [change, message] of [
    [{ source: 1 }, "the option source of the dispute cannot be 1"],
    [{ typo: 1 }, "there is no option typo"],
    [{ constants: { a: "1" } }, "the option constants of the dispute cannot be"],
    [{ workgroups: [1, 0, 1] }, "a list of three whole numbers"],
    [{ buffers: [{}] }, "the option group of a buffer of the dispute"],
    [{ buffers: [{ ...buffer, words: [2 ** 32] }] }, "whole numbers below 2^32"],
    [{ buffers: [buffer, buffer] }, "two buffers for binding 0 of group 0"],
  ] as const)
    expect(read(change)).toThrow(message);
});

/** Returns the kernel of the dispute with another part, after some more declarations. */
const kernelWith = (part: string, other: string, more = "") => ({
  source: more + dispute.source.replace(part, other),
});

it.each([
  ["an error", { source: "fn" }, "the module has an error"],
  [
    "a texture",
    kernelWith(
      "twice(a",
      "textureLoad(t, vec2u(), 0).x * (a",
      "@group(1) @binding(0) var t: texture_2d<i32>;",
    ),
    "the executor does not have textures",
  ],
  ["another entry point", { entryPoint: "nope" }, 'there is no kernel "nope"'],
  ["another override", { constants: { nope: 1 } }, 'there is no override "nope"'],
  ["a large grid", { workgroups: [70000, 1, 1] }, "needs 70000 where the device allows 65535"],
  ["large workgroups", kernelWith("size(8)", "size(8192)"), "needs 8192 where the device allows"],
  [
    "large workgroup memory",
    kernelWith("var sum = 0", "w[0] = 1; var sum = 0", "var<workgroup> w: array<u32, 100000>;"),
    "maxComputeWorkgroupStorageSize",
  ],
  ["a feature", kernelWith("", "enable f16;"), "the feature shader-f16"],
  ["a buffer too many", { buffers: [{ group: 3, binding: 0, words: [0] }] }, "no binding 0 in group 3"],
  ["an empty buffer", { buffers: [{ group: 0, binding: 0, words: [] }] }, "has 0 of at least 4 bytes"],
] as const)("blames nobody for a dispatch with %s", async (_, change, message) => {
  const device = await devices.sharedDevice();
  const features = new Set([...device.features].filter((feature) => feature !== "shader-f16"));
  const without = new Proxy(device, {
    get: (target, name) => (name === "features" ? features : Reflect.get(target, name, target)),
  });
  const tried = blame({ ...dispute, ...change }, { device: without });
  await expect(tried).rejects.toThrow(TypeError);
  await expect(tried).rejects.toThrow(message);
});
