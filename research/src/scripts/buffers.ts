/**
 * Measures the cost of a hardened device's buffers for the host. It compares heap and processor
 * time for many of them with those of a plain device.
 *
 *   node --expose-gc research/dist/scripts/buffers.js [--buffers 10000] [--rounds 3] [--json FILE]
 *
 * The heap is V8's count of used bytes while all buffers are alive, the median of the rounds. Of
 * the times, the shortest counts.
 */
import { writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { harden, type Policy } from "belay-gpu";
import { openGpu } from "belay-node/internal/adapter";
import Table from "cli-table3";
import { median } from "simple-statistics";

const { values: flags } = parseArgs({
  options: {
    buffers: { type: "string", default: "10000" },
    rounds: { type: "string", default: "3" },
    json: { type: "string" },
  },
});
const count = Number(flags.buffers);
const collect = globalThis.gc;
if (!collect) throw new Error("run node with --expose-gc");

const { gpu, close } = await openGpu();

async function deviceFor(policy: Policy | undefined): Promise<GPUDevice> {
  const device = await (await gpu.requestAdapter())!.requestDevice();
  return policy ? harden(device, policy) : device;
}

const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
const usages = { storage: STORAGE | COPY_DST | COPY_SRC, mappable: MAP_READ | COPY_DST };
const policies: Record<string, Policy | undefined> = {
  plain: undefined,
  "no code": { memory: "none" },
  secded128: { memory: "secded128" },
  checksum: { memory: "checksum" },
};

interface Cost {
  readonly bytes: number;
  readonly microseconds: number;
}

/**
 * Returns the heap in use once nothing more can be collected: finalizers run between two
 * collections.
 */
async function heapUsed(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    collect!();
    await setTimeout(50);
  }
  return process.memoryUsage().heapUsed;
}

/** Returns the cost of a buffer in one round. */
async function costOf(policy: Policy | undefined, usage: number): Promise<Cost> {
  const device = await deviceFor(policy);
  device.createBuffer({ size: 64, usage }).destroy();
  const before = await heapUsed();
  const start = process.cpuUsage();
  const buffers = Array.from({ length: count }, () => device.createBuffer({ size: 64, usage }));
  const { user, system } = process.cpuUsage(start);
  await device.queue.onSubmittedWorkDone();
  const bytes = ((await heapUsed()) - before) / count;
  for (const buffer of buffers) buffer.destroy();
  device.destroy();
  await device.lost;
  return { bytes, microseconds: (user + system) / count };
}

const table = new Table({ head: ["buffers", "device", "heap (bytes each)", "CPU time (µs each)"] });
const results: object[] = [];
for (const [kind, usage] of Object.entries(usages)) {
  for (const [name, policy] of Object.entries(policies)) {
    const costs: Cost[] = [];
    for (let round = 0; round < Number(flags.rounds); round++) costs.push(await costOf(policy, usage));
    const bytes = median(costs.map((cost) => cost.bytes));
    const microseconds = Math.min(...costs.map((cost) => cost.microseconds));
    results.push({ kind, device: name, bytes, microseconds });
    table.push([kind, name, bytes.toFixed(0), microseconds.toFixed(1)]);
  }
}
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, `${JSON.stringify({ count, results }, null, 2)}\n`);
close();
