/**
 * Measures copies that check their loads and encode their stores, with each code, in alternation
 * with plain copies of the same elements. It also measures `encode` alone, in registers.
 *
 *   node research/dist/scripts/codeCopies.js [--words 67108864] [--runs 20] [--only REGEXP]
 *       [--json FILE]
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { openGpu } from "belay-node/internal/adapter";
import { median } from "simple-statistics";
import { GpuTimer } from "../bench/measuring/gpuTimer.ts";
import { comparedSchemes } from "../ecc/index.ts";
import { casesFor, workgroup } from "./codeCopies/cases.ts";

const { values: flags } = parseArgs({
  options: {
    words: { type: "string", default: String(2 ** 26) },
    runs: { type: "string", default: "20" },
    only: { type: "string", default: "" },
    json: { type: "string" },
  },
});
const words = Number(flags.words);
const runs = Number(flags.runs);
const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
const cases = casesFor(words, opened.adapter.info.subgroupMinSize ?? 1).filter(({ name }) =>
  new RegExp(flags.only).test(name),
);

const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
const bytes = 4 * words;
const sizes = [bytes, bytes, bytes, bytes, 12];
const buffers = sizes.map((size) => device.createBuffer({ size, usage: STORAGE | COPY_DST | COPY_SRC }));
const layout = device.createBindGroupLayout({
  entries: buffers.map((_, binding) => ({
    binding,
    visibility: GPUShaderStage.COMPUTE,
    buffer: { type: binding === 0 || binding === 2 ? "read-only-storage" : "storage" },
  })),
});
const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
const bindGroup = device.createBindGroup({ layout, entries });

const pipelineOf = (code: string) =>
  device.createComputePipelineAsync({
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ code }) },
  });

const timer = new GpuTimer(device);
function time(pipeline: GPUComputePipeline, count: number): Promise<number> {
  const groups = count / workgroup;
  const across = Math.min(groups, 2 ** 15);
  return timer.time((encoder) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(across, groups / across);
    pass.end();
  });
}

/** The data that fills buffers: one block repeats, and so do its check words. */
const block = Uint32Array.from({ length: 2 ** 12 }, (_, i) => Math.imul(i + 1, 0x9e3779b9));
function fill(buffer: GPUBuffer, content: Uint32Array<ArrayBuffer>, size: number): void {
  for (let at = 0; at < size; at += content.byteLength) device.queue.writeBuffer(buffer, at, content);
}

async function findings(): Promise<number> {
  const reader = device.createBuffer({ size: 12, usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffers[4]!, 0, reader, 0, 12);
  device.queue.submit([encoder.finish()]);
  await reader.mapAsync(GPUMapMode.READ);
  const sum = new Uint32Array(reader.getMappedRange()).reduce((total, count) => total + count, 0);
  reader.destroy();
  return sum;
}

fill(buffers[0]!, block, bytes);
console.log(opened.choice.description);
const results = [];
for (const each of cases) {
  const checks = new Uint32Array((4 * block.length) / comparedSchemes[each.scheme].granuleBytes);
  comparedSchemes[each.scheme].encode(block, checks);
  fill(buffers[2]!, checks, (4 * bytes) / comparedSchemes[each.scheme].granuleBytes);
  const [plain, coded] = await Promise.all([pipelineOf(each.plain), pipelineOf(each.kernel)]);
  const times: { plain: number; coded: number }[] = [];
  for (let run = -2; run < runs; run++) {
    const pair = { plain: await time(plain, each.invocations), coded: await time(coded, each.invocations) };
    if (run >= 0) times.push(pair);
  }
  if ((await findings()) > 0) throw new Error(`${each.name} finds errors where there are none`);
  const [before, after] = [median(times.map((t) => t.plain)), median(times.map((t) => t.coded))];
  const picoseconds = each.encodedWords && ((after - before) * 1e9) / each.encodedWords;
  results.push({ name: each.name, plain: before, coded: after, ratio: after / before, picoseconds });
  const figure = picoseconds ? `${picoseconds.toFixed(3)} ps per word` : (after / before).toFixed(3);
  console.log(`${each.name.padEnd(36)} ${before.toFixed(4)} ms  ${after.toFixed(4)} ms  ${figure}`);
  if (flags.json) writeFileSync(flags.json, JSON.stringify(results, null, 2));
}
device.destroy();
opened.close();
