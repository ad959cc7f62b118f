import { describe, expect, it, vi } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { standInProtect } from "../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { uncaughtIn } from "../../../../test/support/uncaught.ts";
import type { Protect } from "../compiler/contract.ts";
import { ProtectionError } from "./context/coverage.ts";
import type { Policy } from "./context/policy.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

const { newDevice } = testDevices();

async function newHardened(policy?: Policy, protect: Protect = standInProtect): Promise<HardenedDevice> {
  return hardenWith(protect, await newDevice(), policy);
}

const SQUARE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn square(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] * data[id.x]; }
@compute @workgroup_size(4) fn increment(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] + 1; }
`;

/** A device with a fault armed in the kernel `square`, which has run before. */
async function newStruck(policy: Policy) {
  const device = await newHardened(policy);
  await runInPlace(device);
  device.belay.arm(fault);
  return device;
}

/** Uploads `0..n`, runs entry points one after another in one pass, and reads the result back. */
async function runInPlace(device: GPUDevice, entryPoints = ["square"], n = 16): Promise<number[]> {
  const { data, readBack } = submitInPlace(device, entryPoints, n);
  await readBack.mapAsync(GPUMapMode.READ);
  const result = [...new Uint32Array(readBack.getMappedRange())];
  readBack.unmap();
  data.destroy();
  return result;
}

function submitInPlace(device: GPUDevice, entryPoints = ["square"], n = 16) {
  const module = device.createShaderModule({ code: SQUARE });
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const data = device.createBuffer({ size: 4 * n, usage });
  const readBack = device.createBuffer({
    size: 4 * n,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  device.queue.writeBuffer(
    data,
    0,
    Uint32Array.from({ length: n }, (_, i) => i),
  );
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  for (const entryPoint of entryPoints) {
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    const layout = pipeline.getBindGroupLayout(0);
    pass.setPipeline(pipeline);
    pass.setBindGroup(
      0,
      device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: data } }] }),
    );
    pass.dispatchWorkgroups(n / 4);
  }
  pass.end();
  encoder.copyBufferToBuffer(data, 0, readBack, 0, 4 * n);
  device.queue.submit([encoder.finish()]);
  return { data, readBack };
}

const squares = Array.from({ length: 16 }, (_, i) => i * i);
const fault = {
  kernel: "square",
  site: 1,
  replica: 0,
  effect: { xor: 1 },
  workgroup: [0, 0, 0],
  localIndex: 5,
} as const;

describe("a hardened device", () => {
  it("is a GPUDevice to the program", async () => {
    const device = await newHardened();
    expect(device).toBeInstanceOf(GPUDevice);
    expect(device.queue).toBeInstanceOf(GPUQueue);
    expect(device.limits.maxBindGroups).toBeGreaterThanOrEqual(4);
    expect(device.createBuffer).toBe(device.createBuffer);
    device.label = "mine";
    expect(device.label).toBe("mine");
    device.destroy();
    expect((await device.lost).reason).toBe("destroyed");
  });

  it("accepts methods that the program puts around its own", async () => {
    const device = await newHardened();
    const { createBuffer } = device;
    const properties = Object.keys(device);
    const sizes: number[] = [];
    device.createBuffer = (descriptor) => {
      sizes.push(descriptor.size);
      return createBuffer.call(device, descriptor);
    };
    const submit = vi.fn(device.queue.submit);
    Object.defineProperty(device.queue, "submit", { value: submit, configurable: true });
    expect(await runInPlace(device)).toEqual(squares);
    expect(sizes).toEqual([64, 64]);
    expect(submit).toHaveBeenCalledOnce();
    expect(Object.keys(device)).toEqual([...properties, "createBuffer"]);
    expect(delete (device as Partial<GPUDevice>).createBuffer).toBe(true);
    expect(device.createBuffer).toBe(createBuffer);
    device.destroy();
  });

  it("runs an unmodified program with the same result, and reports its coverage", async () => {
    const device = await newHardened();
    expect(await runInPlace(device)).toEqual(squares);
    expect(await runInPlace(device, ["square", "increment"])).toEqual(squares.map((x) => x + 1));
    const report = await device.belay.report();
    expect(report).toMatchObject({ checks: 2, faults: [] });
    expect(report.kernels).toMatchObject([
      { kernel: "square", redundancy: "intra+lds", dispatches: 2, detections: 0, diagnostics: [] },
      { kernel: "increment", redundancy: "intra+lds", dispatches: 1, detections: 0, diagnostics: [] },
    ]);
    device.destroy();
  });

  it("reads the reports back once for all buffers of a submission", async () => {
    const device = await newHardened();
    const runs = [submitInPlace(device), submitInPlace(device), submitInPlace(device)];
    await Promise.all(runs.map(({ readBack }) => readBack.mapAsync(GPUMapMode.READ)));
    await device.queue.onSubmittedWorkDone();
    expect((await device.belay.report()).checks).toBe(1);
    device.destroy();
  });

  it("shows the program the messages about its own source", async () => {
    const device = await newHardened();
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code: "\nfn broken( {" });
    expect((await module.getCompilationInfo()).messages[0]).toMatchObject({ type: "error", lineNum: 2 });
    expect(await device.popErrorScope()).toBeInstanceOf(GPUValidationError);
    device.destroy();
  });

  it("can be created and destroyed many times", async () => {
    for (let i = 0; i < 50; i++) {
      const device = await newHardened();
      if (i % 10 === 0) await runInPlace(device);
      device.destroy();
    }
  });
});

describe("a module that the device rejects, with protected code that it accepts", () => {
  const mending: Protect = (wgsl, options) => standInProtect(wgsl.replace("nonsense", "1"), options);

  /** Returns a hardened device, the module, and a layout of its pipelines. */
  async function newMistaken() {
    const device = hardenWith(mending, await newDevice({ errorsAreExpected: true }));
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code: SQUARE.replace("+ 1", "+ nonsense") });
    expect((await device.popErrorScope())?.message).toContain("nonsense");
    const buffers = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } }],
    });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [buffers] });
    return { device, descriptor: { layout, compute: { module, entryPoint: "increment" } }, buffers };
  }

  it("has its work refused", async () => {
    const { device, descriptor, buffers } = await newMistaken();
    device.pushErrorScope("validation");
    const pipeline = device.createComputePipeline(descriptor);
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    const data = device.createBuffer({ size: 64, usage });
    const bindGroup = device.createBindGroup({
      layout: buffers,
      entries: [{ binding: 0, resource: { buffer: data } }],
    });
    const result = device.createBuffer({
      size: 64,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, bindGroup, 4);
    encoder.copyBufferToBuffer(data, result);
    device.queue.submit([encoder.finish()]);
    await expect(result.mapAsync(GPUMapMode.READ)).rejects.toThrow("the program's pipeline is invalid");
    expect((await device.popErrorScope())?.message).toContain("[Invalid ShaderModule");
    device.destroy();
  });

  it("gives no pipeline asynchronously", async () => {
    const { device, descriptor } = await newMistaken();
    await expect(device.createComputePipelineAsync(descriptor)).rejects.toThrow("[Invalid ShaderModule");
    device.destroy();
  });
});

describe("a detected fault", () => {
  it("refuses the data that it may have reached, and names the place, the invocation and the values", async () => {
    const device = await newStruck({ injectFaults: true, onFault: "throw" });
    const listener = vi.fn();
    device.belay.addEventListener("fault", listener);
    const { readBack } = submitInPlace(device);
    await expect(readBack.mapAsync(GPUMapMode.READ)).rejects.toMatchObject({
      name: "FaultError",
      message:
        'replicas of kernel "square" disagree at square, line 3, column 1: ' +
        "workgroup (0, 0, 0), local index 5 computed 1 and 2",
      help: "write the refused data again; clear or write all results of it before computing them again (BELAY332)",
    });
    expect(readBack.mapState).toBe("unmapped");
    expect(listener).toHaveBeenCalledOnce();
    expect(await device.belay.strikes()).toBe(1);
    await expect(device.belay.verify()).rejects.toThrow("square");
    expect((await device.belay.report()).faults).toHaveLength(1);
    device.destroy();
  });

  it("taints copies and results of the data, until the host replaces them", async () => {
    const device = await newStruck({ injectFaults: true, onFault: "throw" });
    const { data, readBack } = submitInPlace(device);
    device.belay.disarm();
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const readData = async () => {
      const copy = device.createBuffer({ size: 64, usage });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(data, copy);
      device.queue.submit([encoder.finish()]);
      await copy.mapAsync(GPUMapMode.READ);
    };
    await expect(readBack.mapAsync(GPUMapMode.READ)).rejects.toThrow("square");
    await expect(readData()).rejects.toThrow("square");
    device.queue.writeBuffer(data, 0, new Uint32Array(16));
    await readData();
    expect(await runInPlace(device)).toEqual(squares);
    device.destroy();
  });

  it("is only reported if the policy says so", async () => {
    const device = await newStruck({ injectFaults: true, onFault: "report" });
    expect(await runInPlace(device)).toEqual(squares);
    await device.belay.verify();
    expect((await device.belay.report()).kernels[0]).toMatchObject({ kernel: "square", detections: 1 });
    device.destroy();
  });

  it("is detected once: the next epoch begins without it", async () => {
    const device = await newStruck({ injectFaults: true, onFault: "throw" });
    await expect(runInPlace(device)).rejects.toThrow("square");
    device.belay.disarm();
    expect(await runInPlace(device)).toEqual(squares);
    await device.belay.verify();
    device.destroy();
  });

  it("can only be awaited by the name of an event", async () => {
    const device = await newHardened();
    expect(device.belay).toBeInstanceOf(EventTarget);
    expect(() => device.belay.addEventListener("faults" as "fault", () => {})).toThrow(
      "there is no event faults",
    );
    device.destroy();
  });

  it("reaches every listener, even if a listener throws", async () => {
    const device = await newStruck({ injectFaults: true, onFault: "report" });
    const removed = vi.fn();
    const last = vi.fn();
    device.belay.addEventListener("fault", removed);
    device.belay.removeEventListener("fault", removed);
    device.belay.addEventListener("fault", () => {
      throw new Error("mine");
    });
    device.belay.addEventListener("fault", last);
    const thrown = await uncaughtIn(async () => {
      expect(await runInPlace(device)).toEqual(squares);
    });
    expect(last).toHaveBeenCalledOnce();
    expect(removed).not.toHaveBeenCalled();
    expect(thrown).toEqual([new Error("mine")]);
    device.destroy();
  });
});

describe("coverage", () => {
  const unprotectable = SQUARE.replace("fn square", "/* UNPROTECTABLE */ fn square");

  it("names an unprotected kernel, with the reason and its place", async () => {
    const device = await newHardened();
    const module = device.createShaderModule({ code: unprotectable });
    device.createComputePipeline({
      label: "mine",
      layout: "auto",
      compute: { module, entryPoint: "square" },
    });
    expect((await device.belay.report()).kernels).toMatchObject([
      { kernel: "mine", redundancy: "none", diagnostics: [{ code: "BELAY299", line: 3, column: 32 }] },
    ]);
    device.destroy();
  });

  it("is a condition for creating a pipeline in strict mode", async () => {
    const device = await newHardened({ strict: true });
    const module = device.createShaderModule({ code: unprotectable });
    const descriptor = { layout: "auto", compute: { module, entryPoint: "square" } } as const;
    expect(() => device.createComputePipeline(descriptor)).toThrow("3:32 BELAY299: this kernel stays alone");
    await expect(device.createComputePipelineAsync(descriptor)).rejects.toMatchObject({
      reason: "validation",
    });
    device.destroy();
  });

  it("does not include a kernel whose protected code the device rejects", async () => {
    const breaking: Protect = (wgsl, options) => ({
      ...standInProtect(wgsl, options),
      code: "fn square( {",
    });
    const device = hardenWith(breaking, await newDevice());
    const module = device.createShaderModule({ code: SQUARE });
    await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "square" } });
    expect((await device.belay.report()).kernels).toMatchObject([
      { kernel: "square", redundancy: "none", diagnostics: [{ code: "BELAY325" }] },
    ]);
    device.destroy();
  });

  it("includes only pipelines that exist", async () => {
    const device = await newHardened({ kernels: { strictly: { strict: true } } });
    device.addEventListener("uncapturederror", (event) => event.preventDefault());
    const module = device.createShaderModule({ code: SQUARE });
    const alone = device.createShaderModule({ code: unprotectable });
    // The device rejects code that does not fit the bindings, in each way of creating the pipeline.
    const layout = device.createPipelineLayout({
      bindGroupLayouts: [device.createBindGroupLayout({ entries: [] })],
    });
    const compute = { module, entryPoint: "square" };
    device.pushErrorScope("validation");
    device.createComputePipeline({ label: "at once", layout, compute });
    expect(await device.popErrorScope()).not.toBeNull();
    device.pushErrorScope("validation");
    device.createComputePipeline({ label: "left alone", layout, compute: { ...compute, module: alone } });
    expect(await device.popErrorScope()).not.toBeNull();
    await expect(device.createComputePipelineAsync({ label: "later", layout, compute })).rejects.toThrow();
    expect(() =>
      device.createComputePipeline({
        label: "strictly",
        layout: "auto",
        compute: { ...compute, module: alone },
      }),
    ).toThrow(expect.objectContaining({ constructor: ProtectionError, code: "BELAY338" }));
    expect((await device.belay.report()).kernels).toEqual([]);

    device.createComputePipeline({ label: "made", layout: "auto", compute });
    const { kernels } = await device.belay.report();
    expect(kernels.map(({ kernel }) => kernel)).toEqual(["made"]);
    device.destroy();
  });
});

describe("a lost device", () => {
  it("ends pending operations with an error", async () => {
    const device = await newHardened();
    const { readBack } = submitInPlace(device);
    const mapping = readBack.mapAsync(GPUMapMode.READ);
    const verifying = device.belay.verify();
    device.destroy();
    const aborted = {
      name: "AbortError",
      message: "the device was closed before the buffer was mapped",
    };
    await Promise.all([
      expect(mapping).rejects.toMatchObject(aborted),
      expect(verifying).rejects.toMatchObject({
        name: "UnverifiedError",
        message: expect.stringContaining("the device was closed meanwhile"),
      }),
    ]);
    await device.queue.onSubmittedWorkDone();
    await expect(readBack.mapAsync(GPUMapMode.READ)).rejects.toMatchObject(aborted);
  });

  it("never hangs a program that continues", async () => {
    const device = await newHardened();
    device.destroy();
    await expect(runInPlace(device)).rejects.toThrow();
    await device.belay.report();
  });
});
