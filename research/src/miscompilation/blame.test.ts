import { blame, disputeFrom } from "belay-gpu/internal/blame/blame";
import type { Dispute } from "belay-gpu/qualify";
import { expect, it } from "vitest";
import { testDevices } from "../../../test/support/devices/testDevices.ts";
import { lyingDevice } from "./lyingDevice.ts";
import { mistakes } from "./mistakes.ts";

const devices = testDevices({ full: true });
const milliseconds = 3000;
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
  const device = await devices.newDevice();
  const verdict = await blame(dispute, { device: lying(device), software: device, milliseconds });
  expect(verdict.culprit).toBe("driver");
  expect(verdict.evidence.otherText?.outcome).toBe("agrees");
  expect(verdict.dispute.workgroups).toEqual([1, 1, 1]);
  expect(verdict.dispute.source).toContain("clamp");
  expect(verdict.dispute.source).not.toMatch(/sums|twice|for/);
});

it("blames the implementation if two drivers share a mistake", async () => {
  const device = await devices.newDevice();
  const both = lying(device);
  expect((await blame(dispute, { device: both, software: both, milliseconds: 0 })).culprit).toBe(
    "implementation",
  );
});

it("blames the hardware if results differ from run to run", async () => {
  const device = await devices.newDevice();
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
  const device = await devices.newDevice();
  const source = dispute.source.replace("sums[id.x] = sum;", "sums[0] = sum;");
  const verdict = await blame({ ...dispute, source }, { device, software: device, milliseconds });
  expect(verdict.culprit).toBe("kernel");
  expect(verdict.evidence.kernel).toContain("race");
  expect(verdict.dispute.source).not.toContain("clamp");
});

it("blames nobody if the results are right", async () => {
  const device = await devices.newDevice();
  expect((await blame(dispute, { device, software: device })).culprit).toBe("nobody");
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
  const device = await devices.newDevice();
  const { culprit, evidence } = await blame({ source, workgroups: [1, 1, 1], buffers }, { device });
  expect(culprit).toBe("nobody");
  expect(evidence.otherText).toEqual({ outcome: "agrees" });
});

it("reads a dispute as JSON, and says what is wrong with one", () => {
  expect(disputeFrom(JSON.stringify(dispute))).toEqual(dispute);
  expect(() => disputeFrom("{")).toThrow("the dispute is no JSON");
  expect(() => disputeFrom('{"source":1}')).toThrow("the dispute has no `source`");
  expect(() => disputeFrom('{"source":"","workgroups":[1,0,1]}')).toThrow("`workgroups`");
  expect(() => disputeFrom('{"source":"","workgroups":[1,1,1],"buffers":[{}]}')).toThrow("`buffers`");
});
