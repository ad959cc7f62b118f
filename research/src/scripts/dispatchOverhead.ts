/**
 * Measures the cost of a hardened device for the host: a hot loop of small dispatches on a plain
 * and on a hardened device.
 *
 *   node research/dist/scripts/dispatchOverhead.js [--dispatches 10000] [--rounds 10] [--seconds 2]
 *       [--memory none] [--json FILE]
 *
 * Only the calls are timed, not the GPU's work. The devices run the same loop alternately, and
 * the fastest round counts, as other programs on the machine can only add time. A loop gets no
 * further round after `--seconds`.
 *
 * The column "calls alone" is a lower bound: a plain device that makes the calls of protection.
 * Under a memory code, it sets a second bind group for each dispatch, and encodes two dispatches
 * more, which verify memory and compare sums. Without one, it makes no more calls.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { harden, type Policy } from "belay-gpu";
import { openGpu } from "belay-node/internal/adapter";
import Table from "cli-table3";

const { values: flags } = parseArgs({
  options: {
    dispatches: { type: "string", default: "10000" },
    rounds: { type: "string", default: "10" },
    seconds: { type: "string", default: "2" },
    memory: { type: "string", default: "none" },
    json: { type: "string" },
  },
});
const dispatches = Number(flags.dispatches);
const rounds = Number(flags.rounds);
const milliseconds = 1000 * Number(flags.seconds);

const STEP = /* wgsl */ `
@group(0) @binding(0) var<uniform> step: u32;
@group(0) @binding(1) var<storage, read_write> data: array<u32, 4>;
@compute @workgroup_size(1) fn advance() { data[0] += step; }`;

/** The same kernel with a buffer more, as protected kernels have one for their reports. */
const STEP_WITH_REPORT = /* wgsl */ `
@group(0) @binding(0) var<uniform> step: u32;
@group(0) @binding(1) var<storage, read_write> data: array<u32, 4>;
@group(1) @binding(0) var<storage, read_write> report: array<u32, 4>;
@compute @workgroup_size(1) fn advance() { data[0] += step; report[0] = 1; }`;

/** The objects that a loop body needs. */
interface Setup {
  readonly device: GPUDevice;
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
  readonly step: GPUBuffer;
  readonly data: GPUBuffer;
  /** The bind groups that protection adds to a dispatch, and the dispatches that it adds. */
  readonly added?: Added;
}

interface Added {
  readonly group: GPUBindGroup;
  readonly pipeline: GPUComputePipeline;
  readonly dispatches: number;
}

/** The host code around `count` dispatches. */
const loops: Record<string, (setup: Setup, count: number) => void> = {
  "one pass for all": ({ device, pipeline, group, added }, count) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (let i = 0; i < count; i++) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      if (added && i === 0) pass.setBindGroup(1, added.group);
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
  },
  "a submit for each": (setup, count) => {
    for (let i = 0; i < count; i++) submitOne(setup, setup.group);
  },
  "a write, a bind group and a submit for each": (setup, count) => {
    const { device, pipeline, step, data } = setup;
    const word = new Uint32Array(1);
    for (let i = 0; i < count; i++) {
      word[0] = i;
      device.queue.writeBuffer(step, 0, word);
      submitOne(setup, bind(device, pipeline, step, data));
    }
  },
};

function submitOne({ device, pipeline, added }: Setup, group: GPUBindGroup): void {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  if (added) pass.setBindGroup(1, added.group);
  pass.dispatchWorkgroups(1);
  for (let i = 0; i < (added?.dispatches ?? 0); i++) {
    pass.setPipeline(added!.pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
  }
  pass.end();
  device.queue.submit([encoder.finish()]);
}

function bind(device: GPUDevice, pipeline: GPUComputePipeline, ...buffers: GPUBuffer[]): GPUBindGroup {
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  return device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
}

/** With `addedDispatches`, the device makes the calls of protection itself. */
function prepare(device: GPUDevice, addedDispatches?: number): Setup {
  const pipelineOf = (code: string) =>
    device.createComputePipeline({
      layout: "auto",
      compute: { module: device.createShaderModule({ code }) },
    });
  const pipeline = pipelineOf(addedDispatches === undefined ? STEP : STEP_WITH_REPORT);
  const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const [step, data] = [4, 16].map((size) => device.createBuffer({ size, usage })) as [GPUBuffer, GPUBuffer];
  const setup = { device, pipeline, group: bind(device, pipeline, step, data), step, data };
  if (addedDispatches === undefined) return setup;
  const report = device.createBuffer({ size: 16, usage });
  const entries = [{ binding: 0, resource: { buffer: report } }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(1), entries });
  return { ...setup, added: { group, pipeline, dispatches: addedDispatches } };
}

/** Returns the microseconds of host time per dispatch. */
async function time(setup: Setup, loop: (setup: Setup, count: number) => void): Promise<number> {
  const start = performance.now();
  loop(setup, dispatches);
  const elapsed = performance.now() - start;
  await setup.device.queue.onSubmittedWorkDone();
  return (1000 * elapsed) / dispatches;
}

const opened = await openGpu();
const newDevice = async () => (await opened.gpu.requestAdapter())!.requestDevice();
const plain = prepare(await newDevice());
const memory = flags.memory as NonNullable<Policy["memory"]>;
const hardened = prepare(await harden(await newDevice(), { redundancy: "intra+lds", memory }));
const calling = prepare(await newDevice(), memory === "none" ? undefined : 2);
const table = new Table({
  head: ["loop", "plain us", "hardened us", "added us", "ratio", "added by calls alone, us"],
});
const results = [];
for (const [name, loop] of Object.entries(loops)) {
  const times: { plain: number; hardened: number; calling: number }[] = [];
  const start = performance.now();
  while (times.length < rounds && (times.length < 2 || performance.now() - start < milliseconds)) {
    times.push({
      plain: await time(plain, loop),
      hardened: await time(hardened, loop),
      calling: await time(calling, loop),
    });
  }
  const before = Math.min(...times.map((each) => each.plain));
  const after = Math.min(...times.map((each) => each.hardened));
  const bound = Math.min(...times.map((each) => each.calling));
  results.push({
    loop: name,
    dispatches,
    rounds: times.length,
    plain: before,
    hardened: after,
    added: after - before,
    addedByCalls: bound - before,
  });
  const row = [before, after, after - before, after / before, bound - before];
  table.push([name, ...row.map((value) => value.toFixed(2))]);
}
console.log(table.toString());
if (flags.json)
  writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, memory, results }, null, 2));
opened.close();
