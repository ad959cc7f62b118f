import { harden, type Policy } from "belay-gpu";
import { twoTexts } from "belay-gpu/diversity";
import { TriedDevice } from "belay-gpu/internal/qualify/deviceRun";
import { examine } from "belay-gpu/internal/qualify/examine";
import { builtInCandidates } from "belay-gpu/internal/qualify/qualify";
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../test/support/devices/encodeDispatch.ts";
import { download, upload } from "../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../test/support/devices/testDevices.ts";
import { lyingDevice, miscompile, shapesIn } from "./lyingDevice.ts";
import { mistakes } from "./mistakes.ts";

const devices = testDevices({ full: true });

/** The shape of each mistake that is made on a device, and the kernel that must find it. */
const found: Readonly<Record<string, readonly [shape: string, kernel: string]>> = {
  "shift by an amount without mask": [">> i32", "shifts and bits"],
  "shift by one more": ["<< u32", "shifts and bits"],
  "division not truncated": ["/ i32", "signed integers"],
  "remainder with the sign of the divisor": ["% i32", "signed integers"],
  "product in 16 bits": ["* f32", "floats"],
  "sum in 16 bits": ["+ f32", "floats"],
  "comparison with the wrong limit": ["<= i32", "signed integers"],
  "comparison with the wrong sign": ["< u32", "unsigned integers"],
  "min, max and clamp with the wrong sign": ["max f32", "floats"],
  "clamp without the lower limit": ["clamp i32", "signed integers"],
  "select with swapped values": ["select u32", "unsigned integers"],
  "extractBits with the wrong sign": ["extractBits i32", "shifts and bits"],
  "value of the wrong lane": ["subgroupShuffleXor u32", "operations of subgroups, 128"],
  "wrong subgroup size": ["subgroup_size", "lanes of subgroups, 32×1×1"],
  "one lane is always wrong": ["+ u32", "unsigned integers"],
  "barrier dropped": ["workgroupBarrier", "workgroup memory and barriers, 256"],
  "early return dropped": ["of a kernel", "branches and loops"],
  "stale word": ["storage", "loads after stores"],
};

describe("a lying device", () => {
  it("makes each of its mistakes", () => {
    expect(Object.keys(found)).toEqual(mistakes.map(({ name }) => name));
  });

  it("is found by built-in kernels", async () => {
    const device = await devices.sharedDevice();
    const candidates = builtInCandidates(device);
    const outcomes = await Promise.all(
      mistakes.map(async (mistake) => {
        const [shape, name] = found[mistake.name]!;
        const candidate = candidates.find((each) => each.name === name);
        const tried = new TriedDevice(lyingDevice(device, mistake, shape), undefined);
        return [mistake.name, candidate ? (await examine(tried, candidate)).outcome : "differs"];
      }),
    );
    expect(outcomes.filter(([, outcome]) => outcome !== "differs")).toEqual([]);
  });

  it("compiles places of other shapes right", () => {
    const source = `@group(0) @binding(0) var<storage, read_write> x: array<i32>;
      @compute @workgroup_size(1) fn main() { x[0] = x[1] >> 3u; x[2] >>= u32(x[3]); }`;
    const [mistake] = mistakes.filter(({ name }) => name === "shift by one more");
    expect(shapesIn([source], mistake!)).toEqual([">> i32", ">> i32 by a constant"]);
    expect(miscompile(source, mistake!, "<< i32")).toBe(source);
    expect(miscompile(source, mistake!, ">> i32")).toContain("x[2] = x[2] >> (u32(x[3]) + 1u);");
    expect(miscompile(source, mistake!, ">> i32")).toContain("x[0] = x[1] >> 3u;");
  });
});

/** A kernel with a place for each mistake that strikes one of two texts only. */
const program = `
  @group(0) @binding(0) var<storage, read> a: array<i32>;
  @group(0) @binding(1) var<storage, read_write> out: array<i32>;
  var<workgroup> tile: array<i32, 64>;
  fn scaled(x: i32, y: i32) -> i32 {
    if (y % 5 == 2) { return 7; }
    let f = f32(x) * 0.37 + f32(y);
    let shifts = (x << u32(y)) ^ (x >> 3u) ^ extractBits(x, 2u, 5u);
    let limits = clamp(x, -9, 20) + max(x, y) + select(3, 5, x <= y);
    return shifts + x / 3 + limits + i32(f * 1000.0) + i32(u32(x) < u32(y));
  }
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) i: u32) {
    tile[i] = scaled(a[id.x], i32(i) - 20);
    workgroupBarrier();
    out[id.x] = tile[63u - i];
  }`;
/** The mistake and its shape, for each mistake that two texts are meant for. */
const meant: Readonly<Record<string, string>> = {
  "shift by an amount without mask": "<< i32",
  "shift by one more": ">> i32 by a constant",
  "division not truncated": "/ i32 by a constant",
  "remainder with the sign of the divisor": "% i32 by a constant",
  "product in 16 bits": "* f32 by a constant",
  "sum in 16 bits": "+ f32",
  "comparison with the wrong limit": "<= i32",
  "comparison with the wrong sign": "< u32",
  "min, max and clamp with the wrong sign": "max i32",
  "clamp without the lower limit": "clamp i32",
  "select with swapped values": "select i32",
  "extractBits with the wrong sign": "extractBits i32",
  "barrier dropped": "workgroupBarrier",
  "early return dropped": "of a value",
};

describe("on a lying device", () => {
  async function run(device: GPUDevice, policy?: Policy) {
    const hardened = policy ? harden(device, { ...policy, onFault: "report" }) : device;
    const inputs = Array.from({ length: 128 }, (_, i) => (i % 8 === 0 ? (i % 64) - 20 : i * 37 - 900) >>> 0);
    const [a, out] = [upload(hardened, inputs), upload(hardened, new Array(128).fill(0))];
    const compute = { module: hardened.createShaderModule({ code: program }), entryPoint: "main" };
    const pipeline = hardened.createComputePipeline({ layout: "auto", compute });
    const entries = [a, out].map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = hardened.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const encoder = hardened.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 2);
    hardened.queue.submit([encoder.finish()]);
    const words = await download(hardened, out);
    const report =
      "belay" in hardened ? await (hardened as ReturnType<typeof harden>).belay.report() : undefined;
    return { words, found: report ? report.faults.length > 0 : undefined };
  }

  it.each(Object.entries(meant))("replicas with two texts disagree: %s", async (name, shape) => {
    const device = await devices.sharedDevice();
    const mistake = mistakes.find((each) => each.name === name)!;
    const lying = lyingDevice(device, mistake, shape);
    expect((await run(lying)).words).not.toEqual((await run(device)).words);
    // Without barriers, a second pass may find what the first one has left in workgroup memory.
    const policy = name === "barrier dropped" ? ({ redundancy: "inter" } as const) : {};
    expect((await run(lying, { ...policy, diversity: twoTexts })).found).toBe(true);
  });

  it("replicas with one text agree", async () => {
    const device = await devices.sharedDevice();
    const mistake = mistakes.find(({ name }) => name === "clamp without the lower limit")!;
    expect((await run(lyingDevice(device, mistake, "clamp i32"), {})).found).toBe(false);
  });

  it("replicas with two texts agree on a right device", async () => {
    const device = await devices.sharedDevice();
    const { words } = await run(device);
    expect(await run(device, { diversity: twoTexts })).toEqual({ words, found: false });
  });
});
