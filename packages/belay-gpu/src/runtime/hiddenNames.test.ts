/** Programs that redeclare names of WGSL which the protected code uses. */

import { bindBuffers, readBuffers, resultBuffer } from "belay-research/internal/workloads/buffers";
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import type { DetectedFault } from "./context/detectedFault.ts";
import type { Policy } from "./context/policy.ts";
import { harden } from "./harden.ts";

const { sharedDevice } = testDevices({ full: true });

const BYTES = 256;

/**
 * Creates a pipeline from the stage, runs it on one buffer of zeros, and returns the first eight
 * words.
 */
async function runOn(
  device: GPUDevice,
  code: string,
  stage: Omit<GPUProgrammableStage, "module"> = {},
  makeSync = false,
): Promise<number[]> {
  const compute = { ...stage, module: device.createShaderModule({ code }) };
  const descriptor = { layout: "auto", compute } as const;
  const pipeline = makeSync
    ? device.createComputePipeline(descriptor)
    : await device.createComputePipelineAsync(descriptor);
  const buffer = resultBuffer(device, BYTES);
  const encoder = device.createCommandEncoder();
  encodeDispatch(encoder, pipeline, bindBuffers(device, pipeline, buffer), 1);
  device.queue.submit([encoder.finish()]);
  return [...new Uint32Array(await readBuffers(device, buffer))].slice(0, 8);
}

const policies = [
  { redundancy: "intra+lds" },
  { redundancy: "intra+lds", check: "store" },
  { redundancy: "intra+lds", pairing: "passes" },
  { redundancy: "inter" },
  { redundancy: "intra+lds", memory: "secded32" },
] as const satisfies readonly Policy[];

const everything = `
override min: u32 = 3u;
override max = 100u;
@id(7) override any = 5u;
alias f32 = u32;
struct vec4 { bitcast: u32, atomicAdd: f32 }
const countOneBits = 2u;
var<workgroup> atomicLoad: array<u32, 8>;
var<private> uniform: u32;
@group(0) @binding(0) var<storage, read_write> bitcast: array<u32>;
fn insertBits(storage: u32) -> u32 { let min = storage + 1u; return min * countOneBits; }
@compute @workgroup_size(8) fn select(@builtin(local_invocation_index) i: u32) {
  let vec2 = i * min;
  uniform = insertBits(vec2) + any;
  atomicLoad[i] = uniform;
  workgroupBarrier();
  var all = vec4(atomicLoad[i ^ 1u], max);
  all.atomicAdd += all.bitcast;
  bitcast[i] = all.atomicAdd;
}`;
const expected = ({ min = 3, max = 100, any = 5 } = {}) =>
  Array.from({ length: 8 }, (_, i) => ((i ^ 1) * min + 1) * 2 + any + max);

describe("a program that redeclares names of WGSL", () => {
  it.each(policies)("runs protected, with its own names: %o", async (policy) => {
    const device = await harden(await sharedDevice(), policy);
    expect(await runOn(device, everything)).toEqual(expected());
    const constants = { min: 7, max: 1000, 7: 11 };
    const stage = { entryPoint: "select", constants };
    expect(await runOn(device, everything, stage)).toEqual(expected({ min: 7, max: 1000, any: 11 }));
    expect(await runOn(device, everything, stage, true)).toEqual(expected({ min: 7, max: 1000, any: 11 }));
    const { kernels } = await device.belay.report();
    expect(kernels).toMatchObject([
      { kernel: "select", entryPoint: "select", dispatches: 1, ...protectedAs(policy) },
      { kernel: "select#2", entryPoint: "select", dispatches: 2, ...protectedAs(policy) },
    ]);
    device.destroy();
  });

  const protectedAs = ({ redundancy }: Policy) => ({ redundancy, diagnostics: [], detections: 0 });

  it.each(policies)("gets faults reported with its own names: %o", async (policy) => {
    const device = await harden(await sharedDevice(), { ...policy, injectFaults: true });
    const told: DetectedFault[] = [];
    device.belay.addEventListener("fault", ({ detail }) => told.push(detail));
    // The first run creates the kernel.
    await runOn(device, everything);
    const [{ kernel, entryPoint, sites }] = device.belay.faultSites() as [
      ReturnType<typeof device.belay.faultSites>[0],
    ];
    expect([kernel, entryPoint]).toEqual(["select", "select"]);
    const found = sites.find(({ span }) => everything.slice(span.start, span.end) === "all.atomicAdd")!;
    expect(found.functionName).toBe("select");
    device.belay.arm({
      kernel: "select",
      site: found.id,
      workgroup: [0, 0, 0],
      localIndex: 5,
      replica: 0,
      effect: { xor: 1 },
    });
    expect(await runOn(device, everything)).toEqual(expected());
    expect(told).toMatchObject([{ kernel: "select", entryPoint: "select", outcome: "recovered" }]);
    if (!("check" in policy))
      expect(told).toMatchObject([{ stored: { variable: "bitcast", wordOffset: 5 } }]);
    device.destroy();
  });

  it.each(["select", "u32", "min", "atomicAdd", "workgroup", "private", "vec4", "ptr", "workgroupBarrier"])(
    "runs protected with %s as its entry point, named or not",
    async (name) => {
      const code = `
        @group(0) @binding(0) var<storage, read_write> out: array<i32>;
        @compute @workgroup_size(8) fn ${name}(@builtin(local_invocation_id) id: vec3u) { out[id.x] = 7; }`;
      const device = await harden(await sharedDevice(), { redundancy: "intra+lds" });
      expect(await runOn(device, code)).toEqual(new Array(8).fill(7));
      expect(await runOn(device, code, { entryPoint: name })).toEqual(new Array(8).fill(7));
      const { kernels } = await device.belay.report();
      expect(kernels.map(({ entryPoint, redundancy }) => [entryPoint, redundancy])).toEqual([
        [name, "intra+lds"],
        [name, "intra+lds"],
      ]);
      device.destroy();
    },
  );

  it("gets the device's own error about unknown names", async () => {
    const device = await harden(await sharedDevice(), { redundancy: "intra+lds" });
    await expect(runOn(device, everything, { entryPoint: "select_1" })).rejects.toThrow("select_1");
    await expect(runOn(device, everything, { constants: { min_1: 4 } })).rejects.toThrow("min_1");
    await expect(runOn(device, everything, { constants: { any: 4 } })).rejects.toThrow("any");
    device.destroy();
  });

  it("is protected in the way with the lowest predicted cost", async () => {
    const device = await harden(await sharedDevice());
    expect(await runOn(device, everything)).toEqual(expected());
    const { kernels } = await device.belay.report();
    expect(kernels).toMatchObject([{ kernel: "select", chosen: expect.anything(), diagnostics: [] }]);
    expect(kernels[0]!.redundancy).not.toBe("none");
    device.destroy();
  });

  it("follows an exception in the policy for the program's name", async () => {
    const device = await harden(await sharedDevice(), { kernels: { select: { redundancy: "inter" } } });
    expect(await runOn(device, everything)).toEqual(expected());
    expect((await device.belay.report()).kernels).toMatchObject([{ kernel: "select", redundancy: "inter" }]);
    device.destroy();
  });
});
