import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { standInProtect } from "../../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { uncaughtIn } from "../../../../../test/support/uncaught.ts";
import { until } from "../../../../../test/support/until.ts";
import type { Protect } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";
import { hardenWith } from "../hardenedDevice.ts";
import { policyFor } from "./kernelPolicy.ts";
import { type Policy, refuseConflicts, resolvePolicy } from "./policy.ts";

const { sharedDevice } = testDevices();

const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn first(@builtin(global_invocation_id) id: vec3u) { data[id.x] += 1; }
@compute @workgroup_size(4) fn second(@builtin(global_invocation_id) id: vec3u) { data[id.x] += 2; }`;

/**
 * Runs entry points on a buffer of sixteen words. The labels of the pipelines are like \`labeled
 * first\`.
 */
async function run(
  device: GPUDevice,
  entryPoints: readonly string[],
  wait = async () => {},
): Promise<number[]> {
  const module = device.createShaderModule({ code: CODE });
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const data = device.createBuffer({ size: 64, usage: STORAGE | COPY_SRC });
  for (const entryPoint of entryPoints) {
    const label = `labeled ${entryPoint}`;
    const pipeline = device.createComputePipeline({ label, layout: "auto", compute: { module, entryPoint } });
    await wait();
    const entries = [{ binding: 0, resource: { buffer: data } }];
    const encoder = device.createCommandEncoder();
    encodeDispatch(
      encoder,
      pipeline,
      device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
      4,
    );
    device.queue.submit([encoder.finish()]);
  }
  const readBack = device.createBuffer({ size: 64, usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(data, readBack);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  return [...new Uint32Array(readBack.getMappedRange())];
}

const threes = new Array(16).fill(3);

describe("exceptions for kernels", () => {
  it("are found by label, or else by entry point, and keep all other fields", () => {
    const policy = resolvePolicy({
      redundancy: "intra-lds",
      kernels: { fast: { redundancy: "none" }, main: { check: "store" } },
    });
    expect(policyFor(policy, { label: "fast", entryPoint: "main" })).toMatchObject({
      redundancy: "none",
      check: "signature",
    });
    expect(policyFor(policy, { label: "", entryPoint: "main" })).toMatchObject({
      redundancy: "intra-lds",
      check: "store",
    });
    expect(policyFor(policy, { label: "toString", entryPoint: undefined })).toBe(policy);
  });

  it("are rejected if they are invalid", () => {
    expect(() => resolvePolicy({ kernels: { main: { check: "never" as never } } })).toThrow(
      'the option check of the policy for kernel "main" cannot be "never": it is one of "store", "signature"',
    );
    expect(() => resolvePolicy({ kernels: { main: { onFault: "throw" } as never } })).toThrow(
      'there is no option onFault of the policy for kernel "main": the options are redundancy, cover,',
    );
    expect(() => resolvePolicy({ kernels: "main" as never })).toThrow("it is an object of policies by label");
    expect(() => resolvePolicy({ diversity: true as never })).toThrow(
      "the option diversity of the policy cannot be true: it is false, or twoTexts of belay-gpu/diversity",
    );
    expect(() => resolvePolicy({ retries: 3n as never })).toThrow("cannot be 3: it is a whole number from 0");
    expect(() => resolvePolicy({ scrubIntervalMs: 2 ** 31 })).toThrow("from 0 to 2147483647");
    expect(resolvePolicy({ scrubIntervalMs: 2 ** 31 - 1 })).toMatchObject({ scrubIntervalMs: 2147483647 });
  });

  it("decide how each kernel is compiled", async () => {
    const kernels: Policy["kernels"] = {
      "labeled first": { redundancy: "none" },
      second: { redundancy: "intra-lds" },
    };
    const device = hardenWith(protect, await sharedDevice(), { kernels });
    expect(await run(device, ["first", "second"])).toEqual(threes);
    expect((await device.belay.report()).kernels).toMatchObject([
      { kernel: "labeled first", redundancy: "none", diagnostics: [{ code: "BELAY326" }] },
      { kernel: "labeled second", redundancy: "intra-lds", diagnostics: [] },
    ]);
    device.destroy();
  });

  it("can require full coverage for single kernels", async () => {
    const compiler: Protect = (wgsl, options) => standInProtect(`${wgsl} // UNPROTECTABLE`, options);
    const device = hardenWith(compiler, await sharedDevice(), { kernels: { second: { strict: true } } });
    await expect(run(device, ["first", "second"])).rejects.toMatchObject({ name: "ProtectionError" });
    expect(await run(device, ["first"])).toEqual(new Array(16).fill(1));
    device.destroy();
  });
});

describe("a policy with contradicting parts", () => {
  const refusal = (policy: Policy, features: string[] = []) => {
    try {
      refuseConflicts(resolvePolicy(policy), features);
    } catch (error) {
      return String(error);
    }
    return undefined;
  };

  it("is rejected, also for a single kernel", () => {
    const never = "TypeError: the policy protects no kernel: the pairing passes excludes this check";
    expect(refusal({ pairing: "passes", check: "store" })).toContain(never);
    expect(refusal({ pairing: "passes", kernels: { main: { check: "store" } } })).toContain(never);
    expect(refusal({ pairing: "passes", check: "store", redundancy: "auto" })).toContain(never);
    expect(refusal({ pairing: "half-subgroup" })).toContain("needs the feature subgroups");
    expect(refusal({ pairing: "subgroups", channel: "subgroup" }, ["subgroups"])).toContain(
      "excludes this channel",
    );
  });

  it("is accepted if the parts do not apply together", () => {
    expect(refusal({ pairing: "half-subgroup" }, ["subgroups"])).toBeUndefined();
    expect(refusal({ pairing: "passes", check: "store", redundancy: "inter" })).toBeUndefined();
    expect(refusal({ pairing: "passes", check: "store", redundancy: "none" })).toBeUndefined();
  });
});

describe("a kernel in a module with a kernel that is not fully covered", () => {
  const code = `
    @group(0) @binding(0) var<storage, read_write> count: atomic<u32>;
    @group(0) @binding(1) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(4) fn counts() { atomicAdd(&count, 1u); }
    @compute @workgroup_size(4) fn fills(@builtin(global_invocation_id) id: vec3u) { data[id.x] = id.x; }`;

  it("has no gaps of the other kernel, and is not rejected with it", async () => {
    const device = hardenWith(protect, await sharedDevice(), { strict: true });
    const module = device.createShaderModule({ code });
    const make = (entryPoint: string) =>
      device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    make("fills");
    expect((await device.belay.report()).kernels).toMatchObject([
      { redundancy: "intra+lds", diagnostics: [] },
    ]);
    expect(() => make("counts")).toThrow("BELAY210");
    device.destroy();
  });
});

it("covers a kernel in full under strict, although a cheaper configuration leaves a gap", async () => {
  const code = `
    @group(0) @binding(0) var<storage, read> input: array<u32>;
    @group(0) @binding(1) var<storage, read_write> output: array<u32>;
    @compute @workgroup_size(1) fn copies(@builtin(global_invocation_id) id: vec3u) {
      output[id.x] = input[id.x];
    }`;
  for (const [policy, pairing] of [
    [{}, "passes"],
    [{ kernels: { copies: { strict: true } } }, "adjacent"],
  ] as const) {
    const device = hardenWith(protect, await sharedDevice(), policy);
    device.belay.addEventListener("unprotected", (event) => event.preventDefault());
    const module = device.createShaderModule({ code });
    device.createComputePipeline({ layout: "auto", compute: { module } });
    expect((await device.belay.report()).kernels).toMatchObject([{ chosen: { pairing } }]);
    device.destroy();
  }
});

it("counts dispatches of unprotected kernels", async () => {
  const compiler: Protect = (wgsl, options) => standInProtect(`${wgsl} // UNPROTECTABLE`, options);
  for (const [protector, policy] of [
    [compiler, {}],
    [protect, { redundancy: "none" }],
  ] as const) {
    const device = hardenWith(protector, await sharedDevice(), policy);
    await run(device, ["first", "second", "first"]);
    expect((await device.belay.report()).kernels).toMatchObject([
      { kernel: "labeled first", redundancy: "none", dispatches: 2 },
      { kernel: "labeled second", redundancy: "none", dispatches: 1 },
    ]);
    device.destroy();
  }
});

describe("a kernel whose protected code the device rejects", () => {
  const breaking: Protect = (wgsl, options) => {
    const result = standInProtect(wgsl, options);
    return { ...result, code: result.code.replace("data[id.x] += 2;", "data[id.x] += nonsense;") };
  };

  it("runs as the program's own kernel, although its pipeline was created synchronously", async () => {
    const device = hardenWith(breaking, await sharedDevice());
    const last = async () => (await device.belay.report()).kernels.at(-1);
    const isKnown = async () => (await last())?.redundancy === "none";
    expect(await run(device, ["first", "second"], () => until(isKnown))).toEqual(threes);
    expect(await last()).toMatchObject({ diagnostics: [{ code: "BELAY325" }] });
    expect((await device.belay.report()).kernels.map(({ dispatches }) => dispatches)).toEqual([1, 1]);
    device.destroy();
  });

  it("is reported with the device's first reason, and not with an error that follows from it", async () => {
    const device = hardenWith(breaking, await sharedDevice());
    const module = device.createShaderModule({ code: CODE });
    const messages = async () => {
      const { kernels } = await device.belay.report();
      return kernels.flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message));
    };
    const descriptor = { layout: "auto", compute: { module, entryPoint: "first" } } as const;
    await device.createComputePipelineAsync(descriptor);
    expect(await messages()).toEqual([expect.stringContaining("unresolved value 'nonsense'")]);
    device.createComputePipeline({ ...descriptor, label: "at once" });
    await until(async () => (await messages()).length === 2);
    expect((await messages())[1]).toContain("unresolved value 'nonsense'");
    device.destroy();
  });

  it("gives no results if it was used before the rejection was known", async () => {
    const device = hardenWith(breaking, await sharedDevice());
    device.pushErrorScope("validation");
    await expect(run(device, ["first"])).rejects.toMatchObject({
      name: "UnverifiedError",
      message: expect.stringContaining("unresolved value 'nonsense'"),
    });
    expect(await device.popErrorScope()).toBeInstanceOf(GPUValidationError);
    device.destroy();
  });
});

it("emits an event for each step after the detection", async () => {
  const device = hardenWith(standInProtect, await sharedDevice(), { injectFaults: true, retries: 1 });
  const steps: string[] = [];
  for (const event of ["detection", "fault", "recovery", "giveUp"] as const) {
    device.belay.addEventListener(event, () => steps.push(event));
  }
  const fault = {
    kernel: "labeled first",
    site: 1,
    replica: 0,
    effect: { xor: 1 },
    workgroup: [0, 0, 0],
    localIndex: 1,
  } as const;
  expect(await run(device, ["first", "second"])).toEqual(threes);
  device.belay.arm(fault);
  expect(await run(device, ["first", "second"])).toEqual(threes);
  expect(steps).toEqual(["detection", "recovery", "fault"]);
  steps.length = 0;
  device.belay.arm({ ...fault, permanent: true });
  await expect(run(device, ["first", "second"])).rejects.toThrow("not recovered: the fault came back once");
  expect(steps.filter((step) => step === "detection").length).toBeGreaterThan(1);
  expect(steps).toContain("giveUp");
  expect(steps).not.toContain("recovery");
  device.belay.addEventListener("detection", () => {
    throw new Error("mine");
  });
  device.belay.arm(fault);
  const thrown = await uncaughtIn(async () => {
    expect(await run(device, ["first", "second"])).toEqual(threes);
  });
  expect(thrown).toEqual([new Error("mine")]);
  expect(await device.belay.report()).toMatchObject({ recoveries: 2, giveUps: 1 });
  device.destroy();
});
