import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import {
  bindBuffers,
  readBuffers,
  resultBuffer,
  uploadBuffer,
} from "belay-research/internal/workloads/buffers";
import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { until } from "../../../../../test/support/until.ts";
import { makeReady } from "./readyProgram.ts";

const { newDevice } = testDevices();

/**
 * Returns a program whose results tell whether earlier runs changed its buffers. The list `made`
 * receives weak references to the buffers that its runs create.
 */
function telling(made: WeakRef<GPUBuffer>[]): VerifiableProgram {
  const code = `
    @group(0) @binding(0) var<storage, read_write> input: array<u32, 2>;
    @group(0) @binding(1) var<storage, read_write> output: array<u32, 2>;
    @compute @workgroup_size(1) fn tell() {
      if (output[0] == 0u) { output[0] = input[0]; } else { output[1] = 1u; }
      input[0] += 1u;
    }`;
  return {
    workload: () => Promise.reject(new Error("prepared only")),
    prepare: (device) => {
      const module = device.createShaderModule({ code });
      const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
      const [input, output] = [uploadBuffer(device, Uint32Array.of(7, 0)), resultBuffer(device, 8)];
      const bindings = bindBuffers(device, pipeline, input, output);
      return {
        encode: (encoder) => {
          encodeDispatch(encoder, pipeline, bindings, 1);
        },
        read: async () => {
          made.push(new WeakRef(device.createBuffer({ size: 4, usage: GPUBufferUsage.COPY_DST })));
          return { output: new Uint32Array(await readBuffers(device, output)) };
        },
        destroy: () => {},
      };
    },
    verify: () => ({ ok: true, message: "" }),
    kernelSources: {},
    work: { bytes: 0, flops: 0 },
  };
}

const ready = async (made: WeakRef<GPUBuffer>[] = []) =>
  makeReady({ name: "telling", digest: "", runs: telling(made) }, await newDevice());

it("every run begins with the buffers as they were, outputs too", async () => {
  const program = await ready();
  for (let i = 0; i < 3; i++) expect(await program.run()).toEqual({ output: Uint32Array.of(7, 0) });
  expect(program.buffers).toEqual([8, 8]);
});

it("a buffer is struck after it was put back, and before the run", async () => {
  const device = await newDevice();
  const strike = async (buffer: GPUBuffer, byteOffset: number, mask: number) =>
    device.queue.writeBuffer(buffer, byteOffset, Uint32Array.of(7 ^ mask));
  const program = makeReady({ name: "telling", digest: "", runs: telling([]) }, device, strike);
  const struck = await program.run({ buffer: 0, byteOffset: 0, mask: 8 });
  expect(struck).toEqual({ output: Uint32Array.of(15, 0) });
  expect(await program.run()).toEqual({ output: Uint32Array.of(7, 0) });
});

it("what runs make is let go of", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const made: WeakRef<GPUBuffer>[] = [];
  const program = await ready(made);
  for (let i = 0; i < 20; i++) await program.run();
  await until(() => {
    collect();
    return made.filter((each) => each.deref() !== undefined).length < 3;
  });
  expect(program.buffers.length).toBe(2);
});

it("a readback buffer is used again, and has zeros as if it were new", async () => {
  const device = await newDevice();
  const staging: GPUBuffer[] = [];
  const prepare: VerifiableProgram["prepare"] = (device) => {
    const source = uploadBuffer(device, Uint32Array.of(1, 2), GPUBufferUsage.COPY_SRC);
    let size = 8;
    const read = async () => {
      const usage = GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ;
      const buffer = device.createBuffer({ size: 8, usage });
      staging.push(buffer);
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(source, 0, buffer, 0, size);
      device.queue.submit([encoder.finish()]);
      size = 4;
      await buffer.mapAsync(GPUMapMode.READ);
      const output = new Uint32Array(buffer.getMappedRange().slice());
      buffer.destroy();
      return { output };
    };
    return { encode: () => {}, read, destroy: () => {} };
  };
  const program = makeReady({ name: "", digest: "", runs: { ...telling([]), prepare } }, device);
  expect(await program.run()).toEqual({ output: Uint32Array.of(1, 2) });
  expect(await program.run()).toEqual({ output: Uint32Array.of(1, 0) });
  expect(staging[1]).toBe(staging[0]);
});
