/** What is told of a fault: once, and with the place, the invocation and the values that are known. */
import { describe, expect, it } from "vitest";
import { testDevices } from "../../test/testDevices.ts";
import { bindBuffers, readBuffers, resultBuffer } from "../../workloads/buffers.ts";
import type { Fault } from "./fault.ts";
import { harden } from "./harden.ts";
import type { ArmedFault } from "./injector.ts";
import type { Policy } from "./policy.ts";

const { newDevice } = testDevices({ full: true });

const BYTES = 256;

/** Hardens a device, makes a kernel of 8 invocations with one buffer for each binding, and strikes it. */
async function prepare(code: string, policy: Policy, bindings = 1) {
  const device = await harden(await newDevice(), { injectFaults: true, ...policy });
  const told: Fault[] = [];
  device.belay.on("fault", (fault) => told.push(fault));
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const buffers = Array.from({ length: bindings }, () => resultBuffer(device, BYTES));
  const group = bindBuffers(device, pipeline, ...buffers);
  const run = async () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    return new Uint32Array(await readBuffers(device, ...buffers));
  };
  /** Strikes what the source computes by this text, in invocation 5, and runs. */
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

describe("a fault is told once", () => {
  it.each([
    { redundancy: "intra+lds" },
    { redundancy: "intra+lds", channel: "workgroup" },
    { redundancy: "intra-lds" },
  ] as const)("where replicas take two paths, each with a store of its own: %o", async (policy) => {
    const code = body("  if (i * 3u < 100u) { out[i] = i + 1u; }\n  else { out[i] = i * 5u; }");
    const { device, told, strike } = await prepare(code, { ...policy, check: "store" });
    await strike("i * 3u < 100u");
    expect(told.map(({ localIndex, outcome }) => [localIndex, outcome])).toEqual([[5, "recovered"]]);
    expect((await device.belay.report()).kernels).toMatchObject([{ detections: 1 }]);
    device.destroy();
  });

  it("where a value is stored in two places", async () => {
    const code = body("  let x = i * 3u;\n  out[i] = x;\n  out[i + 8u] = x;");
    const { device, told, strike } = await prepare(code, { redundancy: "intra+lds", check: "store" });
    await strike("i * 3u");
    expect(told.map(({ site, values }) => [site?.line, values])).toEqual([[6, ["14", "15"]]]);
    expect((await device.belay.report()).kernels).toMatchObject([{ detections: 1 }]);
    device.destroy();
  });
});
