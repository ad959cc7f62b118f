/**
 * Measures the memory of a long-running program: epochs, each of which changes a buffer in place
 * and is verified.
 *
 *   node --expose-gc research/dist/scripts/epochs.js [--epochs 10000] [--json FILE]
 *
 * Ends with an error when the host's heap or the snapshots have grown after the first tenth of the
 * epochs.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { harden } from "belay-gpu";
import { openGpu } from "belay-node/internal/adapter";
import Table from "cli-table3";

const { values: flags } = parseArgs({
  options: { epochs: { type: "string", default: "10000" }, json: { type: "string" } },
});
const epochs = Number(flags.epochs);
/** The heap growth in bytes that garbage collection explains. */
const TOLERANCE = 4e6;

const STEP = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64) fn advance(@builtin(global_invocation_id) id: vec3u) { data[id.x] += id.x; }`;

const opened = await openGpu();
const device = await harden(await (await opened.gpu.requestAdapter())!.requestDevice(), {
  redundancy: "intra+lds",
});
const module = device.createShaderModule({ code: STEP });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const data = device.createBuffer({ size: 4096, usage: STORAGE | COPY_SRC | COPY_DST });
const readBack = device.createBuffer({ size: 4096, usage: MAP_READ | COPY_DST });
const group = device.createBindGroup({
  layout: pipeline.getBindGroupLayout(0),
  entries: [{ binding: 0, resource: { buffer: data } }],
});

async function runEpoch(index: number): Promise<void> {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(16);
  pass.end();
  encoder.copyBufferToBuffer(data, readBack);
  device.queue.submit([encoder.finish()]);
  device.queue.writeBuffer(data, 0, Uint32Array.of(index));
  await readBack.mapAsync(GPUMapMode.READ);
  readBack.unmap();
}

const samples: { epoch: number; heap: number; resident: number; held: number; peak: number }[] = [];
const table = new Table({ head: ["epochs", "heap MB", "resident MB", "snapshots KB", "at most KB"] });
for (let epoch = 1; epoch <= epochs; epoch++) {
  await runEpoch(epoch);
  if (epoch % Math.ceil(epochs / 10) !== 0) continue;
  globalThis.gc?.();
  const { heapUsed: heap, rss: resident } = process.memoryUsage();
  const { held, peak } = (await device.belay.report()).snapshots;
  samples.push({ epoch, heap, resident, held, peak });
  const megabytes = [heap, resident].map((bytes) => (bytes / 1e6).toFixed(1));
  table.push([String(epoch), ...megabytes, (held / 1000).toFixed(1), (peak / 1000).toFixed(1)]);
}
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, samples }, null, 2));
const [first, last] = [samples[0]!, samples.at(-1)!];
if (last.heap > first.heap + TOLERANCE || last.peak > first.peak) {
  console.error("memory grows with the epochs");
  process.exitCode = 1;
}
opened.close();
