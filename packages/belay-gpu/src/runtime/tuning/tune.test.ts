import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Progress } from "../../diagnostics/progress.ts";
import { harden } from "../harden.ts";
import { type TuneOptions, tune } from "./tune.ts";
import type { Workload } from "./workload.ts";

const { newDevice: newFullDevice } = testDevices({ full: true });
const { newDevice: newPlainDevice } = testDevices();

const kernel = (name: string, body: string) => /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> squares: array<u32>;
@compute @workgroup_size(16) fn ${name}(@builtin(global_invocation_id) id: vec3u) { ${body} }`;
const codes = [
  kernel("square", "squares[id.x] = id.x * id.x;"),
  kernel("double", "squares[id.x] += squares[id.x];"),
];

/** Runs two kernels whose pipelines have no names, each in its own pass. */
const workload: Workload = async (device) => {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const buffer = device.createBuffer({ size: 256, usage: STORAGE | COPY_SRC });
  const readable = device.createBuffer({ size: 256, usage: COPY_DST | MAP_READ });
  const encoder = device.createCommandEncoder();
  for (const code of codes) {
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const layout = pipeline.getBindGroupLayout(0);
    const group = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] });
    encodeDispatch(encoder, pipeline, group, 4);
  }
  encoder.copyBufferToBuffer(buffer, 0, readable, 0, 256);
  device.queue.submit([encoder.finish()]);
  await readable.mapAsync(GPUMapMode.READ);
  return { squares: new Uint32Array(readable.getMappedRange().slice(0)) };
};

it("measures a configuration for each kernel, which a policy accepts", async () => {
  const newDevice = () => newFullDevice();
  const { kernels, policies } = await tune(workload, { newDevice, runs: 2, cover: ["SU"] });
  expect(kernels.map(({ kernel }) => kernel).sort()).toEqual(["double", "square"]);
  for (const { configuration, protected: best, unprotected, tried } of kernels) {
    expect(["passes", "subgroups", "adjacent"]).toContain(configuration.pairing);
    expect(configuration.redundancy === "inter" || configuration.pairing !== "adjacent").toBe(true);
    expect(tried[0]).toMatchObject({ ...configuration, milliseconds: best, unprotected });
    const costs = tried.map((each) => each.milliseconds / each.unprotected);
    expect(costs).toEqual(costs.toSorted((a, b) => a - b));
    expect(unprotected).toBeGreaterThan(0);
  }
  // The replicas of a kernel that changes its buffer in place cannot run in different subgroups.
  const places = kernels.find(({ kernel }) => kernel === "double")!.tried.map(({ pairing }) => pairing);
  expect(places).not.toContain("subgroups");

  const device = await harden(await newDevice(), { redundancy: "auto", kernels: policies });
  const { squares } = await workload(device);
  expect(squares).toEqual(Uint32Array.from({ length: 64 }, (_, i) => 2 * i * i));
  const report = await device.belay.report();
  expect(report.kernels.map(({ redundancy }) => redundancy)).not.toContain("none");
  device.destroy();
});

it("rejects devices without timestamps", async () => {
  const newDevice = () => newPlainDevice();
  await expect(tune(workload, { newDevice })).rejects.toThrow("timestamp-query");
});

it("ends by a signal before the next run, with its reason, and destroys its devices", async () => {
  const devices: GPUDevice[] = [];
  const newDevice = async () => {
    const device = await newFullDevice();
    devices.push(device);
    return device;
  };
  const ending = new AbortController();
  const reason = new Error("enough");
  const steps: Progress[] = [];
  const onProgress = (step: Progress) => {
    steps.push(step);
    if (step.done === 1) ending.abort(reason);
  };
  const tuning = tune(workload, { newDevice, runs: 1, signal: ending.signal, onProgress });
  await expect(tuning).rejects.toBe(reason);
  expect(steps.map(({ done }) => done)).toEqual([0, 1]);
  expect(steps[0]!.total).toBeGreaterThan(1);
  expect(steps[0]!.doing).toMatch(/^(intra|inter|passes)/);
  expect(devices).toHaveLength(3);
  for (const { lost } of devices) expect((await lost).reason).toBe("destroyed");
  await expect(tune(workload, { newDevice, signal: ending.signal })).rejects.toBe(reason);
  expect(devices).toHaveLength(3);
});

it("refuses wrong options before it makes a device", async () => {
  const newDevice = async (): Promise<GPUDevice> => {
    throw new Error("a device was made");
  };
  const wrong: [object, string][] = [
    [{ newDevice, progress: () => {} }, "there is no option progress: the options are newDevice,"],
    [{ newDevice, runs: 0 }, "the option runs cannot be 0: it is a whole number from 1 on"],
    [{ newDevice, cover: ["GPU"] }, 'the option cover cannot be ["GPU"]: it is a list of "ALU", "VRF"'],
    [{ newDevice, signal: {} }, "the option signal cannot be {}: it is an AbortSignal"],
    [{}, "the option newDevice cannot be undefined: it is a function"],
  ];
  for (const [options, message] of wrong)
    await expect(tune(workload, options as TuneOptions)).rejects.toThrow(message);
  await expect(tune(3 as never, { newDevice })).rejects.toThrow("a workload is a function of a device");
});
