/** Buffers that a program destroys before, between and after the commands that use them. */
import { expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

/** The first changes parts of a granule, and the second has checks of its own. */
const kernels = ["x[id.x] = x[id.x] * x[id.x] + y[id.x].x;", "x[id.x] = f32(id.x) + y[id.x].x;"];
/** The steps of a program. A buffer is destroyed before one of them. */
const steps = 14;

/** Runs a program that destroys a buffer at one moment. Returns the errors that it sees. */
async function errorsOf(
  device: GPUDevice,
  body: string,
  which: "x" | "y",
  moment: number,
): Promise<string[]> {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const errors: string[] = [];
  const buffer = () => device.createBuffer({ size: 1024, usage: STORAGE | COPY_SRC | COPY_DST });
  const buffers = { x: buffer(), y: buffer() };
  const read = device.createBuffer({ size: 1024, usage: MAP_READ | COPY_DST });
  let step = 0;
  const scoped = async (run: () => void) => {
    if (step++ === moment) buffers[which].destroy();
    device.pushErrorScope("validation");
    try {
      run();
    } catch (error) {
      errors.push(`thrown: ${(error as Error).name}`);
    }
    if (await device.popErrorScope()) errors.push(`${step}: validation`);
  };

  const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage> y: array<vec4f>;
@compute @workgroup_size(64) fn change(@builtin(global_invocation_id) id: vec3u) { ${body} }`;
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = [buffers.x, buffers.y].map((each, binding) => ({ binding, resource: { buffer: each } }));
  for (let round = 0; round < 2; round++) {
    let group!: GPUBindGroup;
    const encoder = device.createCommandEncoder();
    let commands: GPUCommandBuffer | undefined;
    await scoped(() => device.queue.writeBuffer(buffers.x, 4, new Float32Array(8)));
    await scoped(() => {
      group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    });
    const pass = encoder.beginComputePass();
    await scoped(() => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
    });
    await scoped(() => pass.end());
    await scoped(() => encoder.copyBufferToBuffer(buffers.x, 4, read, 4, 512));
    await scoped(() => {
      commands = encoder.finish();
    });
    await scoped(() => device.queue.submit([commands!]));
    if (round === 0) await device.queue.onSubmittedWorkDone();
  }
  const mapped = await read.mapAsync(GPUMapMode.READ).then(
    () => "mapped",
    (error: Error) => error.name,
  );
  return [...errors, mapped];
}

const policies: readonly Policy[] = [
  {},
  { memory: "secded128" },
  { memory: "checksum" },
  { memory: "detect", redundancy: "none" },
];

it.each(policies)("gives the errors of a plain device under %j", async (policy) => {
  const plain = await sharedDevice();
  const hardened = harden(await sharedDevice(), policy);
  for (const body of kernels) {
    for (const which of ["x", "y"] as const) {
      for (let moment = 0; moment < steps; moment++) {
        const expected = await errorsOf(plain, body, which, moment);
        expect
          .soft(await errorsOf(hardened, body, which, moment), `${body} ${which} ${moment}`)
          .toEqual(expected);
      }
    }
  }
});
