import type { Prepared } from "belay-gpu/internal/runtime/tuning/workload";
import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { bindBuffers, readBuffers, resultBuffer } from "../../workloads/buffers.ts";
import * as bitonicSort from "../../workloads/samples/bitonicSort.ts";
import * as reduction from "../../workloads/samples/reduction.ts";
import { countDifferent } from "./countDifferent.ts";
import { TimedProgram } from "./timing.ts";

const { newDevice } = testDevices({ full: true });

it.each([
  ["in one submission", () => reduction.create({ length: 100 })],
  ["that overwrites its inputs", () => bitonicSort.create({ length: 100 })],
])("finds no difference between the runs of a program %s", async (_, create) => {
  const program = create();
  const device = await newDevice();
  using timed = new TimedProgram(program, device);
  await timed.run();
  const expected = await timed.read();
  expect(await countDifferent(device, timed, expected, 130)).toBe(0);
  const [name] = Object.keys(expected);
  expect(await countDifferent(device, timed, { [name!]: new Uint32Array(1) }, 7)).toBe(7);
});

it("finds the runs that differ", async () => {
  // Every fourth run has another result than the one before it.
  const code = `
    @group(0) @binding(0) var<storage, read_write> runs: u32;
    @group(0) @binding(1) var<storage, read_write> quarter: u32;
    @compute @workgroup_size(1) fn wear() { runs++; quarter = runs / 4u; }`;
  const prepare = (device: GPUDevice): Prepared => {
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const [runs, quarter] = [resultBuffer(device, 4), resultBuffer(device, 4)];
    const group = bindBuffers(device, pipeline, runs, quarter);
    return {
      encode(encoder) {
        encodeDispatch(encoder, pipeline, group, 1);
      },
      read: async () => ({ quarter: new Uint32Array(await readBuffers(device, quarter)) }),
      destroy() {},
    };
  };
  const device = await newDevice();
  using timed = new TimedProgram({ ...reduction.create(), prepare }, device);
  // The first run gives the expected outputs. Of the second to the sixth run, three end after the
  // fourth begins.
  expect(await countDifferent(device, timed, { quarter: Uint32Array.of(0) }, 5)).toBe(3);
});
