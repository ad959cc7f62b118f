/** Copies of buffers that are made before the program submits the commands that overwrite them. */
import { expect, it, vi } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { standInProtect } from "../../../../../test/support/devices/standInCompiler.ts";
import { download, upload } from "../../../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { injectionWords, type Protect } from "../../compiler/contract.ts";
import type { Policy } from "../context/policy.ts";
import { hardenWith } from "../hardenedDevice.ts";

const { newDevice } = testDevices();

const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn triple(@builtin(global_invocation_id) id: vec3u) { data[id.x] *= 3u; }`;

/**
 * Makes kernels that report a fault, and store a wrong number, in these executions. They need no
 * commands to do so, as armed faults do.
 */
const faultyIn =
  (...executions: number[]): Protect =>
  (wgsl, options) => {
    const result = standInProtect(wgsl, options);
    const count = `let count = 1 + atomicAdd(&belay_report[${injectionWords.strikes}], 1u);`;
    const isFaulty = executions.map((each) => `count == ${each}`).join(" || ");
    const strike = `if (index != 2) { return; } ${count} if (!(${isFaulty || "false"})) { return; } data[2] = 7;`;
    return { ...result, code: result.code.replace(/if \(atomicLoad[^{]*\{ return; \}[^;]*;/, strike) };
  };

/** Prepares a kernel that triples a buffer in place. Tells the native submissions of each run. */
async function prepare(protect: Protect, policy: Policy = {}) {
  const native = await newDevice();
  const device = hardenWith(protect, native, policy);
  const compute = { module: device.createShaderModule({ code: CODE }) };
  const pipeline = device.createComputePipeline({ label: "triple", layout: "auto", compute });
  const data = upload(device, [1, 2, 3, 4]);
  const submit = vi.spyOn(native.queue, "submit");
  const entries = [{ binding: 0, resource: { buffer: data } }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const run = async () => {
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 1);
    submit.mockClear();
    device.queue.submit([encoder.finish()]);
    const before = submit.mock.calls.length;
    await device.belay.verify();
    return [before, submit.mock.calls.length - before];
  };
  const recovered = async () => {
    const words = await download(device, data);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, giveUps: 0 });
    return words;
  };
  return { native, device, data, run, recovered };
}

it("are made of buffers that two epochs in a row have saved, and recover", async () => {
  const { run, recovered } = await prepare(faultyIn(4));
  // A snapshot and the commands, and then the reading of reports.
  expect(await run()).toEqual([2, 1]);
  expect(await run()).toEqual([2, 2]);
  expect(await run()).toEqual([1, 2]);
  await run();
  expect(await recovered()).toEqual([81, 162, 243, 324]);
});

it("are not made without room for twice as many copies", async () => {
  const { run } = await prepare(faultyIn(), { snapshotBytes: 63 });
  for (let i = 0; i < 4; i++) expect(await run()).toEqual([2, 1]);
  const { run: runWithRoom } = await prepare(faultyIn(), { snapshotBytes: 64 });
  for (let i = 0; i < 4; i++) await runWithRoom();
  expect(await runWithRoom()).toEqual([1, 2]);
});

it.each<[by: string, write: (parts: Awaited<ReturnType<typeof prepare>>, ones: GPUBuffer) => void]>([
  ["the host", ({ device, data }) => device.queue.writeBuffer(data, 0, new Uint32Array(4).fill(1))],
  [
    "commands that no check can find wrong",
    ({ device, data }, ones) => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(ones, data);
      device.queue.submit([encoder.finish()]);
    },
  ],
  [
    "commands that the hardened device did not record",
    ({ native, device, data }, ones) => {
      const encoder = native.createCommandEncoder();
      encoder.copyBufferToBuffer(ones, data);
      device.queue.submit([encoder.finish()]);
    },
  ],
])("are not used after a write by %s", async (_, write) => {
  const parts = await prepare(faultyIn(4));
  const ones = upload(parts.device, [1, 1, 1, 1]);
  for (let i = 0; i < 3; i++) await parts.run();
  write(parts, ones);
  await parts.run();
  expect(await parts.recovered()).toEqual([3, 3, 3, 3]);
});

it("are not used if a fault has reached them", async () => {
  const { device, data, run } = await prepare(faultyIn(3, 5));
  for (let i = 0; i < 4; i++) await run();
  expect(await download(device, data)).toEqual([81, 162, 243, 324]);
  expect(await device.belay.report()).toMatchObject({ recoveries: 2, giveUps: 0 });
});
