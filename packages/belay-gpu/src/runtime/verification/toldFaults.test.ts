/** The report of a fault: once, and with the known place, invocation and values. */

import { bindBuffers, readBuffers, resultBuffer } from "belay-research/internal/workloads/buffers";
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { type DetectedFault, describeFault } from "../context/detectedFault.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import type { ArmedFault } from "../injection/injector.ts";

const { sharedDevice } = testDevices({ full: true });

const BYTES = 256;

/**
 * Hardens a device, creates a kernel of 8 invocations with one buffer for each binding, and arms
 * faults in it.
 */
async function prepare(code: string, policy: Policy, bindings = 1, plain?: GPUDevice) {
  const device = await harden(plain ?? (await sharedDevice()), { injectFaults: true, ...policy });
  const told: DetectedFault[] = [];
  device.belay.addEventListener("fault", ({ detail }) => told.push(detail));
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const buffers = Array.from({ length: bindings }, () => resultBuffer(device, BYTES));
  const group = bindBuffers(device, pipeline, ...buffers);
  const run = async () => {
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 1);
    device.queue.submit([encoder.finish()]);
    return new Uint32Array(await readBuffers(device, ...buffers));
  };
  /**
   * Strikes the value that the source computes by this text, in invocation 5, and runs the kernel.
   */
  const strike = async (source: string, fault: Partial<ArmedFault> = {}) => {
    const [{ kernel, sites }] = device.belay.faultSites() as [ReturnType<typeof device.belay.faultSites>[0]];
    const site = sites.find(({ span }) => code.slice(span.start, span.end) === source)!.id;
    const place = { workgroup: [0, 0, 0], localIndex: 5, replica: 0, effect: { xor: 1 } } as const;
    device.belay.arm({ kernel, site, ...place, ...fault });
    return run();
  };
  return { device, told, run, strike };
}

const body = (statements: string, declarations = "var<storage, read_write> out: array<u32>;") => `
@group(0) @binding(0) ${declarations}
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
${statements}
}`;

describe("a fault is reported once", () => {
  it.each([
    { redundancy: "intra+lds" },
    { redundancy: "intra+lds", channel: "workgroup" },
    { redundancy: "intra-lds" },
  ] as const)("if replicas take two paths with different stores: %o", async (policy) => {
    const code = body("  if (i * 3u < 100u) { out[i] = i + 1u; }\n  else { out[i] = i * 5u; }");
    const { device, told, strike } = await prepare(code, { ...policy, check: "store" });
    await strike("i * 3u < 100u");
    expect(told.map(({ localIndex, outcome }) => [localIndex, outcome])).toEqual([[5, "recovered"]]);
    expect((await device.belay.report()).kernels).toMatchObject([{ detections: 1 }]);
    device.destroy();
  });

  it("if a value is stored in two places", async () => {
    const code = body("  let x = i * 3u;\n  out[i] = x;\n  out[i + 8u] = x;");
    const { device, told, strike } = await prepare(code, { redundancy: "intra+lds", check: "store" });
    await strike("i * 3u");
    expect(told.map(({ site, values }) => [site?.line, values])).toEqual([[6, ["14", "15"]]]);
    expect((await device.belay.report()).kernels).toMatchObject([{ detections: 1 }]);
    device.destroy();
  });
});

describe("the wrong word of a fault, if hashes are compared", () => {
  const signatures = [
    {},
    { redundancy: "intra+lds" },
    { redundancy: "intra-lds", channel: "workgroup" },
    { redundancy: "intra+lds", pairing: "passes" },
    { redundancy: "inter" },
  ] as const satisfies readonly Policy[];

  it.each(signatures)("is found by re-execution: %o", async (policy) => {
    const { device, told, strike } = await prepare(body("  out[i] = i * 3u;"), policy);
    expect((await strike("i * 3u"))[5]).toBe(15);
    expect(told.map(({ stored }) => stored)).toEqual([
      {
        variable: "out",
        stores: [{ line: 5, column: 3 }],
        wordOffset: 5,
        values: ["14", "15"],
        count: 1,
      },
    ]);
    expect(describeFault(told[0]!)).toContain(
      "word 5 of out, stored in line 5, was 14, and 15 when it ran again",
    );
    device.destroy();
  });

  it.each(signatures)("is missing if the replica that does not store was struck: %o", async (policy) => {
    const { device, told, strike } = await prepare(body("  out[i] = i * 3u;"), policy);
    await strike("i * 3u", { replica: 1 });
    expect(told.map(({ stored }) => stored)).toEqual(["nothing"]);
    expect(describeFault(told[0]!)).toContain("nothing differs in what the kernel stores to");
    device.destroy();
  });

  it.each([
    ["f32", "f32(i) * 0.5", 5, ["-2.5", "2.5"], { xor: 1 << 31 }],
    ["i32", "i32(i) - 9", 5, ["-3", "-4"], { xor: 1 }],
    ["vec2f", "vec2f(f32(i), 1)", 10, ["-5", "5"], { xor: 1 << 31 }],
    ["vec3u", "vec3u(i, 1, 2)", 20, ["4", "5"], { xor: 1 }],
  ] as const)("has the values of its type: %s", async (type, source, wordOffset, values, effect) => {
    const code = body(`  out[i] = ${source};`, `var<storage, read_write> out: array<${type}>;`);
    const { device, told, strike } = await prepare(code, {});
    await strike(source, { effect });
    expect(told.map(({ stored }) => stored)).toMatchObject([{ wordOffset, values, count: 1 }]);
    device.destroy();
  });

  it("names a variable and all of its stores", async () => {
    const code = body(
      "  let x = i * 3u;\n  other[i] = i;\n  if (i < 4u) { out[i] = x; }\n  else { out[i + 8u] = x; }",
      "var<storage, read_write> other: array<u32>;\n@group(0) @binding(1) var<storage, read_write> out: array<u32>;",
    );
    const { device, told, strike } = await prepare(code, {}, 2);
    await strike("i * 3u");
    expect(told.map(({ stored }) => stored)).toMatchObject([
      { variable: "out", stores: [{ line: 8 }, { line: 9 }], wordOffset: 13, values: ["14", "15"] },
    ]);
    device.destroy();
  });

  it("is found in a texture", async () => {
    const code = `
@group(0) @binding(0) var out: texture_storage_2d<r32float, write>;
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  let x = f32(i) * 0.5;
  textureStore(out, vec2u(i % 4u, i / 4u), vec4f(x));
}`;
    const device = await harden(await sharedDevice(), { injectFaults: true });
    const told: DetectedFault[] = [];
    device.belay.addEventListener("fault", ({ detail }) => told.push(detail));
    const texture = device.createTexture({
      size: [4, 2],
      format: "r32float",
      usage: GPUTextureUsage.STORAGE_BINDING,
    });
    const module = device.createShaderModule({ code });
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
    const group = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: [{ binding: 0, resource: texture.createView() }],
    });
    const [{ kernel, sites }] = device.belay.faultSites() as [ReturnType<typeof device.belay.faultSites>[0]];
    const site = sites.find(({ span }) => code.slice(span.start, span.end) === "f32(i) * 0.5")!.id;
    const place = { workgroup: [0, 0, 0], localIndex: 5, replica: 0 } as const;
    device.belay.arm({ kernel, site, ...place, effect: { xor: 1 << 31 } });
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 1);
    device.queue.submit([encoder.finish()]);
    await device.belay.verify();
    expect(told.map(({ stored }) => stored)).toMatchObject([
      { variable: "out", stores: [{ line: 6 }], wordOffset: 5, values: ["-2.5", "2.5"], count: 1 },
    ]);
    device.destroy();
  });
});

describe("a fault that comes back each time, if hashes are compared", () => {
  const found = [
    {},
    { redundancy: "intra+lds", channel: "workgroup" },
    { redundancy: "intra-lds" },
    { redundancy: "intra+lds", pairing: "half-subgroup" },
    { redundancy: "intra+lds", pairing: "subgroups" },
    { redundancy: "intra+lds", pairing: "passes" },
    { memory: "secded128" },
  ] as const satisfies readonly Policy[];

  it.each(found)("is reported once, with the store and both values: %o", async (policy) => {
    const { device, told, strike } = await prepare(body("  out[i] = i * 3u;"), policy);
    const refused = await strike("i * 3u", { permanent: true }).catch((error: Error) => error.message);
    expect(refused).toContain("disagree at out, line 5, column 3: workgroup (0, 0, 0), local index 5");
    expect(refused).toContain("computed 14 and 15");
    expect(told.map(({ site, values, outcome }) => [site?.line, values, outcome])).toEqual([
      [5, ["14", "15"], "refused"],
    ]);
    device.destroy();
  });

  it("is refused as a fault if workgroups may wait in vain for their twins before stores", async () => {
    const { device, told, strike } = await prepare(body("  out[i] = i * 3u;"), { redundancy: "inter" });
    await expect(strike("i * 3u", { permanent: true })).rejects.toMatchObject({ name: "FaultError" });
    expect(told.map(({ kernel, outcome }) => [kernel, outcome])).toEqual([["main", "refused"]]);
    device.destroy();
  });

  it("is reported with the store also for explicit layouts with dynamic offsets, and for textures", async () => {
    const code = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var picture: texture_storage_2d<r32uint, write>;
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = i;
  textureStore(picture, vec2u(i, 0), vec4u(i * 3u));
}`;
    const device = await harden(await sharedDevice(), { injectFaults: true });
    const told: DetectedFault[] = [];
    device.belay.addEventListener("fault", ({ detail }) => told.push(detail));
    const visibility = GPUShaderStage.COMPUTE;
    const layout = device.createBindGroupLayout({
      entries: [
        { binding: 0, visibility, buffer: { type: "storage", hasDynamicOffset: true } },
        { binding: 1, visibility, storageTexture: { format: "r32uint" } },
      ],
    });
    const module = device.createShaderModule({ code });
    const pipelineLayout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
    const pipeline = device.createComputePipeline({ layout: pipelineLayout, compute: { module } });
    const { STORAGE, COPY_SRC } = GPUBufferUsage;
    const buffer = device.createBuffer({ size: 512, usage: STORAGE | COPY_SRC });
    const texture = device.createTexture({
      size: [8],
      format: "r32uint",
      usage: GPUTextureUsage.STORAGE_BINDING,
    });
    const group = device.createBindGroup({
      layout,
      entries: [
        { binding: 0, resource: { buffer, size: 32 } },
        { binding: 1, resource: texture.createView() },
      ],
    });
    const [{ kernel, sites }] = device.belay.faultSites() as [ReturnType<typeof device.belay.faultSites>[0]];
    const site = sites.find(({ span }) => code.slice(span.start, span.end) === "vec4u(i * 3u)")!.id;
    const place = { workgroup: [0, 0, 0], localIndex: 5, replica: 0 } as const;
    device.belay.arm({ kernel, site, ...place, effect: { xor: 1 }, permanent: true });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group, [256]);
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    await expect(device.belay.verify()).rejects.toThrow(/disagree at picture, line 7/);
    expect(told.map(({ site, outcome }) => [site?.line, outcome])).toEqual([[7, "refused"]]);
    expect(told[0]!.values.map((value) => value?.match(/\d+/)?.[0])).toEqual(["14", "15"]);
    device.destroy();
  });

  it("is reported with hashes if the work runs again only once, or not at all", async () => {
    for (const policy of [{ retries: 1 }, { onFault: "throw" }] as const) {
      const { device, told, strike } = await prepare(body("  out[i] = i * 3u;"), policy);
      await expect(strike("i * 3u", { permanent: true })).rejects.toThrow(/computed 0x\w+ and 0x\w+/);
      expect(told.map(({ stored, outcome }) => [stored, outcome])).toEqual([[null, "refused"]]);
      device.destroy();
    }
  });

  it("needs no compilation before it comes back", async () => {
    const plain = await sharedDevice();
    let modules = 0;
    const { createShaderModule } = plain;
    plain.createShaderModule = (descriptor) => {
      modules++;
      return createShaderModule.call(plain, descriptor);
    };
    const { device, strike, run } = await prepare(body("  out[i] = i * 3u;"), {}, 1, plain);
    await run();
    const before = modules;
    await strike("i * 3u");
    expect(modules).toBe(before);
    await strike("i * 3u", { permanent: true }).catch(() => {});
    expect(modules).toBe(before + 1);
    await strike("i * 3u", { permanent: true }).catch(() => {});
    expect(modules).toBe(before + 1);
    device.destroy();
  });
});
