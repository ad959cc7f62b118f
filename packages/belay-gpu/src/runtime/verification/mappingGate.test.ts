import { expect, it } from "vitest";
import { standInProtect } from "../../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import { hardenWith } from "../hardenedDevice.ts";

const { sharedDevice } = testDevices();

/**
 * Creates a hardened device, and a buffer for reading back with a copy of a protected kernel's
 * result.
 */
async function submitted(policy: Policy = {}) {
  const device = policy.memory
    ? await harden(await sharedDevice(), policy)
    : hardenWith(standInProtect, await sharedDevice(), policy);
  const code = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { out[id.x] = 7; }`;
  const compute = { module: device.createShaderModule({ code }) };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const out = device.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
  const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const layout = pipeline.getBindGroupLayout(0);
  pass.setBindGroup(
    0,
    device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: out } }] }),
  );
  pass.dispatchWorkgroups(4);
  pass.end();
  encoder.copyBufferToBuffer(out, 0, buffer, 0, 16);
  device.queue.submit([encoder.finish()]);
  return { device, buffer };
}

it("shows no data before it is verified", async () => {
  const { device, buffer } = await submitted();
  const mapping = buffer.mapAsync(GPUMapMode.READ);
  let resolved = false;
  const watched = mapping.then(() => {
    resolved = true;
  });
  while (!resolved) {
    expect(buffer.mapState).toBe("pending");
    expect(() => buffer.getMappedRange()).toThrow(DOMException);
    await new Promise((done) => setTimeout(done));
  }
  await watched;
  expect(buffer.mapState).toBe("mapped");
  expect([...new Uint32Array(buffer.getMappedRange())]).toEqual([7, 7, 7, 7]);
  buffer.unmap();
  expect(buffer.mapState).toBe("unmapped");
  device.destroy();
});

it("rejects a second mapping as WebGPU does, and does not affect the first", async () => {
  const { device, buffer } = await submitted();
  const mapping = buffer.mapAsync(GPUMapMode.READ);
  await expect(buffer.mapAsync(GPUMapMode.READ)).rejects.toMatchObject({ name: "OperationError" });
  await mapping;
  const range = buffer.getMappedRange();
  device.pushErrorScope("validation");
  const again = buffer.mapAsync(GPUMapMode.READ);
  expect(new Uint32Array(range)[0]).toBe(7);
  await expect(again).rejects.toMatchObject({ name: "OperationError" });
  await device.popErrorScope();
  expect(buffer.mapState).toBe("mapped");
  device.destroy();
});

it("ends a pending mapping if the buffer is unmapped or destroyed", async () => {
  for (const end of ["unmap", "destroy"] as const) {
    const { device, buffer } = await submitted();
    const mapping = buffer.mapAsync(GPUMapMode.READ);
    buffer[end]();
    expect(buffer.mapState).toBe("unmapped");
    await expect(mapping).rejects.toMatchObject({ name: "AbortError" });
    device.destroy();
  }
});

it("passes on the errors of an invalid mapping", async () => {
  const { device, buffer } = await submitted();
  device.pushErrorScope("validation");
  await expect(buffer.mapAsync(GPUMapMode.WRITE)).rejects.toMatchObject({ name: "OperationError" });
  expect(await device.popErrorScope()).toBeInstanceOf(GPUValidationError);
  device.pushErrorScope("validation");
  await expect(buffer.mapAsync(GPUMapMode.READ, 4)).rejects.toMatchObject({ name: "OperationError" });
  expect(await device.popErrorScope()).toBeInstanceOf(GPUValidationError);
  expect(buffer.mapState).toBe("unmapped");
  device.destroy();
});

it.each([{}, { redundancy: "none" }, { memory: "secded128" }] as const)(
  "accepts a mapping after a rejected one, and none before, under %j",
  async (policy) => {
    const device = await harden(await sharedDevice({ errorsAreExpected: true }), policy);
    const usage = GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC;
    for (const isPatient of [true, false]) {
      const buffer = device.createBuffer({ size: 16, usage });
      device.pushErrorScope("validation");
      const mistake = buffer.mapAsync(GPUMapMode.READ);
      const rejected = expect(mistake).rejects.toMatchObject({ name: "OperationError" });
      if (isPatient) await device.popErrorScope();
      const next = buffer.mapAsync(GPUMapMode.WRITE);
      if (isPatient) await next;
      else await expect(next).rejects.toMatchObject({ name: "OperationError" });
      await rejected;
      expect(buffer.mapState).toBe(isPatient ? "mapped" : "unmapped");
      if (!isPatient) await device.popErrorScope();
    }
    device.destroy();
  },
);

it("settles mappings and waits for submitted work in the order of their requests", async () => {
  for (const policy of [{}, { redundancy: "inter" }, { memory: "secded128" }] as const) {
    const { device, buffer } = await submitted(policy);
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const requested = [
      device.queue.onSubmittedWorkDone().then(note("first wait")),
      buffer.mapAsync(GPUMapMode.READ).then(note("mapping")),
      device.queue.onSubmittedWorkDone().then(() => {
        expect([...new Uint32Array(buffer.getMappedRange())]).toEqual([7, 7, 7, 7]);
        order.push("second wait");
      }),
    ];
    await Promise.all(requested);
    expect(order.indexOf("mapping"), JSON.stringify(policy)).toBeLessThan(order.indexOf("second wait"));
    expect(order.indexOf("first wait")).toBeLessThan(order.indexOf("second wait"));
  }
});

it("ends a wait for submitted work though a mapping before it is cancelled", async () => {
  const { device, buffer } = await submitted();
  const mapping = buffer.mapAsync(GPUMapMode.READ);
  const done = device.queue.onSubmittedWorkDone();
  buffer.unmap();
  await expect(mapping).rejects.toMatchObject({ name: "AbortError" });
  await done;
});
