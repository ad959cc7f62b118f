/** Bind groups of default layouts, which have the report of their kernel from their creation on. */

import { expect, it, vi } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { download, upload } from "../../../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { newDevice } = testDevices();

const CODE = `
@group(0) @binding(4) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn triple(@builtin(global_invocation_id) id: vec3u) { data[id.x] *= 3u; }
@compute @workgroup_size(4) fn halve(@builtin(global_invocation_id) id: vec3u) { data[id.x] /= 2u; }`;

/** Runs both kernels in one pass, with a bind group each. Counts the native bind groups. */
async function prepare() {
  const native = await newDevice();
  const made = vi.spyOn(native, "createBindGroup");
  const device = harden(native);
  const module = device.createShaderModule({ code: CODE });
  const data = upload(device, [1, 2, 3, 4]);
  const kernels = ["triple", "halve"].map((entryPoint) => {
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    const layout = pipeline.getBindGroupLayout(0);
    const bind = () =>
      device.createBindGroup({ layout, entries: [{ binding: 4, resource: { buffer: data } }] });
    return { pipeline, bind };
  });
  const run = () => {
    const encoder = device.createCommandEncoder();
    for (const { pipeline, bind } of kernels) encodeDispatch(encoder, pipeline, bind(), 1);
    device.queue.submit([encoder.finish()]);
    return download(device, data);
  };
  return { native, device, made, run, bind: kernels[0]!.bind };
}

it("need no other bind group for a dispatch", async () => {
  const { device, made, run } = await prepare();
  expect(await run()).toEqual([1, 3, 4, 6]);
  expect(made.mock.calls.map(([{ entries }]) => [...entries].length)).toEqual([2, 2]);
  expect((await device.belay.report()).checks).toBeGreaterThan(0);
});

it("have the program's entries only, if passes set an earlier one with equal contents", async () => {
  const { device, made, run } = await prepare();
  await run();
  await device.belay.report();
  made.mockClear();
  expect(await run()).toEqual([1, 4, 6, 9]);
  expect(made.mock.calls.map(([{ entries }]) => [...entries].length)).toEqual([1, 1]);
});

it("need no error scope once the device has accepted an equal one", async () => {
  const { native, device, bind } = await prepare();
  const scopes = vi.spyOn(native, "pushErrorScope");
  bind();
  expect(scopes).toHaveBeenCalledTimes(1);
  await device.queue.onSubmittedWorkDone();
  bind();
  expect(scopes).toHaveBeenCalledTimes(1);
});
