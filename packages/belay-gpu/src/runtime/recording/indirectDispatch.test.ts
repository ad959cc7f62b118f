/** Indirect dispatches on doubled grids, which only the GPU knows. */
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { download, upload } from "../../../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";
import { proxyOf } from "../webgpu/nativeObjects.ts";

const { newDevice } = testDevices();

/** `number` writes its position and its grid; `choose` writes the arguments of a dispatch. */
const CODE = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(2) fn number(
  @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) i: u32
) {
  let at = group.x + groups.x * (group.y + groups.y * group.z);
  out[2 * at + i] = 1000000 * groups.z + 10000 * groups.y + 100 * groups.x + at + 1;
}
@compute @workgroup_size(1) fn choose(@builtin(global_invocation_id) id: vec3u) { out[id.x + 1] = 3 - id.x; }`;

type Words = readonly number[];
const WORDS = 128;
const nothing: Words = new Array(WORDS).fill(0);

async function hardened(
  policy?: Policy,
  limit?: number,
): Promise<{ device: HardenedDevice; done: () => void }> {
  const native = await newDevice();
  const limited = limit
    ? proxyOf(native, { limits: proxyOf(native.limits, { maxComputeWorkgroupsPerDimension: limit }) })
    : native;
  const device = await harden(limited, { redundancy: "inter", ...policy });
  return { device, done: () => native.destroy() };
}

function pipelineOf(device: GPUDevice, entryPoint: string, layout: GPUPipelineLayout | "auto" = "auto") {
  const module = device.createShaderModule({ code: CODE });
  return device.createComputePipeline({ layout, compute: { module, entryPoint } });
}

function bind(device: GPUDevice, pipeline: GPUComputePipeline, buffer: GPUBuffer): GPUBindGroup {
  const layout = pipeline.getBindGroupLayout(0);
  return device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] });
}

/**
 * Dispatches `number` once for each offset into the arguments, in one pass, into one buffer each.
 */
async function numberAll(device: GPUDevice, args: Words, offsets: Words): Promise<Words[]> {
  const buffer = upload(device, args, GPUBufferUsage.INDIRECT);
  const pipeline = pipelineOf(device, "number");
  const outs = offsets.map(() => upload(device, nothing));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  offsets.forEach((offset, i) => {
    pass.setBindGroup(0, bind(device, pipeline, outs[i]!));
    pass.dispatchWorkgroupsIndirect(buffer, offset);
  });
  pass.end();
  device.queue.submit([encoder.finish()]);
  return Promise.all(outs.map((out) => download(device, out)));
}

const spread = new Array<number>(70).fill(0);
spread.splice(1, 3, 3, 2, 1);
spread.splice(62, 6, 5, 1, 1, 2, 2, 4);
const cases: Record<string, { args: Words; offsets: Words; limit?: number }> = {
  "one after another, at any offset": { args: spread, offsets: [4, 248, 4, 252, 260] },
  "of nothing": { args: [3, 0, 1, 4], offsets: [0, 4] },
  "beyond the limit, which runs nothing": { args: [65536, 1, 1, 0xffffffff, 2, 1], offsets: [0, 8, 4] },
  "whose x has no room": { args: [5, 3, 2, 8, 8, 1, 4, 1, 1], offsets: [0, 12, 4, 24], limit: 8 },
};

describe("indirect dispatches", () => {
  it.each(Object.entries(cases))("%s", async (_, { args, offsets, limit }) => {
    const plain = await newDevice();
    const { device, done } = await hardened({}, limit);
    const expected = await numberAll(plain, args, offsets);
    expect(await numberAll(device, args, offsets)).toEqual(expected);
    const { kernels, faults } = await device.belay.report();
    expect(kernels).toMatchObject([{ redundancy: "inter", dispatches: offsets.length, detections: 0 }]);
    expect(faults).toEqual([]);
    plain.destroy();
    done();
  });

  it("use arguments that a kernel wrote in the same pass", async () => {
    const run = async (device: GPUDevice) => {
      const args = upload(device, [9, 9, 9, 9, 9], GPUBufferUsage.INDIRECT);
      const out = upload(device, nothing);
      const [choose, number] = [pipelineOf(device, "choose"), pipelineOf(device, "number")];
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(choose);
      pass.setBindGroup(0, bind(device, choose, args));
      pass.dispatchWorkgroups(3);
      pass.setPipeline(number);
      pass.setBindGroup(0, bind(device, number, out));
      pass.dispatchWorkgroupsIndirect(args, 4);
      pass.dispatchWorkgroups(1);
      pass.end();
      device.queue.submit([encoder.finish()]);
      return [await download(device, args), await download(device, out)];
    };
    const plain = await newDevice();
    const { device, done } = await hardened();
    expect(await run(device)).toEqual(await run(plain));
    plain.destroy();
    done();
  });

  it("run again if a fault is detected", async () => {
    const { device, done } = await hardened({ injectFaults: true });
    const expected = await numberAll(device, [3, 2, 1], [0]);
    for (const { id } of device.belay.faultSites()[0]!.sites) {
      const where = { workgroup: [2, 1, 0], localIndex: 1 } as const;
      device.belay.arm({ kernel: "number", site: id, replica: 1, effect: { xor: 1 }, ...where });
      expect(await numberAll(device, [3, 2, 1], [0])).toEqual(expected);
    }
    const { recoveries, giveUps } = await device.belay.report();
    expect(recoveries).toBeGreaterThan(0);
    expect(giveUps).toBe(0);
    done();
  });

  it("fail with an error if no dimension has room", async () => {
    const { device, done } = await hardened({ onFault: "throw" }, 4);
    const seen: unknown[] = [];
    device.belay.addEventListener("unverified", ({ detail }) => seen.push(detail));
    const args = [3, 3, 3];
    await expect(numberAll(device, args, [0])).rejects.toMatchObject({ code: "BELAY331" });
    expect(seen).toMatchObject([{ kernel: "number", cause: "gridTooLarge" }]);
    expect(await numberAll(device, [4, 2, 1], [0])).not.toContainEqual(nothing);
    done();
  });
});

describe("the same errors", () => {
  type Mistake = (device: GPUDevice) => unknown;
  const dispatchFrom = (device: GPUDevice, args: GPUBuffer, offset = 0, out = upload(device, nothing)) => {
    const pipeline = pipelineOf(device, "number");
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bind(device, pipeline, out));
    pass.dispatchWorkgroupsIndirect(args, offset);
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
  const argumentsOnly = (device: GPUDevice, more = 0) =>
    device.createBuffer({ label: "arguments", size: 16, usage: GPUBufferUsage.INDIRECT | more });
  const mistakes: Record<string, Mistake> = {
    "arguments of another usage": (device) => dispatchFrom(device, upload(device, [1, 1, 1])),
    "arguments beyond the buffer": (device) => dispatchFrom(device, argumentsOnly(device), 8),
    "arguments between words": (device) => dispatchFrom(device, argumentsOnly(device), 2),
    "arguments that the kernel writes": (device) => {
      const args = upload(device, [1, 1, 1], GPUBufferUsage.INDIRECT);
      dispatchFrom(device, args, 0, args);
    },
    "destroyed arguments": (device) => {
      const args = argumentsOnly(device);
      args.destroy();
      dispatchFrom(device, args);
    },
    "a buffer of arguments bound to a kernel": (device) =>
      bind(device, pipelineOf(device, "number"), argumentsOnly(device)),
    "one bound in an explicit layout": (device) => {
      const buffer = { type: "storage" } as const;
      const entries = [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer }];
      const layout = device.createBindGroupLayout({ entries });
      const resource = { buffer: argumentsOnly(device, GPUBufferUsage.UNIFORM) };
      device.createBindGroup({ layout, entries: [{ binding: 0, resource }] });
    },
    "a grid beyond the limit": (device) => {
      const pipeline = pipelineOf(device, "number");
      const encoder = device.createCommandEncoder();
      encodeDispatch(encoder, pipeline, bind(device, pipeline, upload(device, nothing)), 1, 65536);
      encoder.finish();
    },
    "a dispatch without bind group": (device) => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipelineOf(device, "number"));
      pass.dispatchWorkgroups(2);
      pass.end();
      encoder.finish();
    },
    "a dispatch without pipeline": (device) => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.dispatchWorkgroups(2);
      pass.end();
      encoder.finish();
    },
    "another pipeline's bind group": (device) => {
      const [number, choose] = [pipelineOf(device, "number"), pipelineOf(device, "choose")];
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(number);
      pass.setBindGroup(0, bind(device, choose, upload(device, nothing)));
      pass.dispatchWorkgroupsIndirect(argumentsOnly(device), 0);
      pass.end();
      encoder.finish();
    },
  };

  async function errorsOf(device: GPUDevice, mistake: Mistake): Promise<string[]> {
    const errors: string[] = [];
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      // The buffer of doubled arguments is an internal one of Belay.
      const message = event.error.message.replace(/(DispatchWorkgroupsIndirect)\(.*\)/, "$1");
      errors.push(`${event.error.constructor.name}: ${message}`);
    });
    mistake(device);
    await device.queue.onSubmittedWorkDone();
    return errors;
  }

  it.each(Object.entries(mistakes))("for %s", async (_, mistake) => {
    const plain = await newDevice({ errorsAreExpected: true });
    const native = await newDevice({ errorsAreExpected: true });
    const expected = await errorsOf(plain, mistake);
    expect(expected).not.toEqual([]);
    const actual = await errorsOf(await harden(native, { redundancy: "inter" }), mistake);
    expect(actual).toEqual(expected);
    plain.destroy();
    native.destroy();
  });

  it("and the same usage", async () => {
    const { device, done } = await hardened({ onFault: "throw" });
    expect(argumentsOnly(device).usage).toBe(GPUBufferUsage.INDIRECT);
    done();
  });
});
