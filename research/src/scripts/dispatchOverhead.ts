/**
 * Measures the cost of a hardened device for the host: a hot loop of small dispatches on a plain
 * and on a hardened device.
 *
 *   node research/dist/scripts/dispatchOverhead.js [--dispatches 10000] [--rounds 10] [--seconds 2]
 *       [--memory none] [--json FILE]
 *
 * Only the calls are timed, not the GPU's work. Both devices run the same loop alternately, and
 * the fastest round counts, as other programs on the machine can only add time. A loop gets no
 * further round after `--seconds`.
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

/** The objects that a loop body needs. */
interface Setup {
  readonly device: GPUDevice;
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
  readonly step: GPUBuffer;
  readonly data: GPUBuffer;
}

/** The host code around `count` dispatches. */
const loops: Record<string, (setup: Setup, count: number) => void> = {
  "one pass for all": ({ device, pipeline, group }, count) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (let i = 0; i < count; i++) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
  },
  "a submit for each": ({ device, pipeline, group }, count) => {
    for (let i = 0; i < count; i++) submitOne(device, pipeline, group);
  },
  "a write, a bind group and a submit for each": ({ device, pipeline, step, data }, count) => {
    const word = new Uint32Array(1);
    for (let i = 0; i < count; i++) {
      word[0] = i;
      device.queue.writeBuffer(step, 0, word);
      submitOne(device, pipeline, bind(device, pipeline, step, data));
    }
  },
};

function submitOne(device: GPUDevice, pipeline: GPUComputePipeline, group: GPUBindGroup): void {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  device.queue.submit([encoder.finish()]);
}

function bind(device: GPUDevice, pipeline: GPUComputePipeline, ...buffers: GPUBuffer[]): GPUBindGroup {
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  return device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
}

function prepare(device: GPUDevice): Setup {
  const module = device.createShaderModule({ code: STEP });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const [step, data] = [4, 16].map((size) => device.createBuffer({ size, usage })) as [GPUBuffer, GPUBuffer];
  return { device, pipeline, group: bind(device, pipeline, step, data), step, data };
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
const table = new Table({ head: ["loop", "plain us", "hardened us", "added us", "ratio"] });
const results = [];
for (const [name, loop] of Object.entries(loops)) {
  const times: { plain: number; hardened: number }[] = [];
  const start = performance.now();
  while (times.length < rounds && (times.length < 2 || performance.now() - start < milliseconds)) {
    times.push({ plain: await time(plain, loop), hardened: await time(hardened, loop) });
  }
  const before = Math.min(...times.map((each) => each.plain));
  const after = Math.min(...times.map((each) => each.hardened));
  results.push({
    loop: name,
    dispatches,
    rounds: times.length,
    plain: before,
    hardened: after,
    added: after - before,
  });
  table.push([name, ...[before, after, after - before, after / before].map((value) => value.toFixed(2))]);
}
console.log(table.toString());
if (flags.json)
  writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, memory, results }, null, 2));
opened.close();
