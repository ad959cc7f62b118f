/**
 * Measures what redundancy costs: each workload unprotected and protected, in every flavor, check, pairing and channel.
 *
 *   node dist/bench/redundancy.js [--size small|full] [--runs 20] [--only name,...] [--json FILE]
 *     [--configurations "intra+lds signature,subgroups"]   those whose names have all the words of one of these
 *
 * A figure is the median over the runs of GPU time (timestamp queries around one run's dispatches), and the ratio to
 * the unprotected program measured in alternation with it. Every configuration is verified against the CPU reference,
 * compared bit for bit with the unprotected output, and must end without a detection.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { median } from "simple-statistics";
import { GpuTimer } from "../src/bench/gpuTimer.ts";
import { type HardenedDevice, harden, type Policy } from "../src/index.ts";
import { openGpu } from "../src/runtime/adapter.ts";
import { requestFullDevice } from "../src/runtime/adapterDevice.ts";
import { benchmarkSizes } from "../workloads/benchmarkSizes.ts";
import { catalog } from "../workloads/index.ts";
import type { Outputs, Prepared, Program } from "../workloads/program.ts";

interface Configuration extends Policy {
  readonly name: string;
}

interface Measurement {
  readonly workload: string;
  readonly configuration: string;
  /** Median milliseconds of one run. */
  readonly unprotected: number;
  readonly protected: number;
  readonly ratio: number;
  readonly detections: number;
  readonly identical: boolean;
  readonly verified: boolean;
  readonly runs: number;
  readonly gigabytesPerSecond: number;
  readonly gigaflops: number;
}

const flavors = ["intra+lds", "intra-lds"] as const;
const checks = ["store", "signature"] as const;
const configurations: Configuration[] = flavors.flatMap((redundancy) => [
  ...checks.flatMap((check) =>
    (["adjacent", "half-subgroup"] as const).flatMap((pairing) =>
      (["subgroup", "workgroup"] as const).map((channel) => named({ redundancy, check, pairing, channel })),
    ),
  ),
  named({ redundancy, check: "signature", pairing: "subgroups", channel: "workgroup" }),
]);

function named(policy: Policy): Configuration {
  return { name: Object.values(policy).join(" "), ...policy, onFault: "report" };
}

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "small" },
    runs: { type: "string", default: "20" },
    only: { type: "string" },
    configurations: { type: "string" },
    json: { type: "string" },
  },
});
const runs = Number(flags.runs);
const only = flags.only?.split(",");
const patterns = flags.configurations?.split(",").map((pattern) => pattern.split(" "));
const chosen = configurations.filter(({ name }) => {
  const words = name.split(" ");
  return !patterns || patterns.some((pattern) => pattern.every((word) => words.includes(word)));
});

const opened = await openGpu();
const measurements: Measurement[] = [];
const table = new Table({
  head: ["workload", "configuration", "plain ms", "protected ms", "ratio", "faults", "bits", "verified"],
});
for (const { name, small } of catalog) {
  if (only && !only.includes(name)) continue;
  const create = flags.size === "full" ? benchmarkSizes[name] : undefined;
  await measureWorkload(name, (create ?? small)());
}
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, measurements }, null, 2));
opened.close();

async function measureWorkload(workload: string, program: Program): Promise<void> {
  const plainDevice = await newDevice();
  const plain = program.prepare(plainDevice);
  const plainTimer = new GpuTimer(plainDevice);
  await run(plainTimer, plain);
  const expected = await plain.read();
  const verified = program.verify(expected).ok;
  for (const { name, ...policy } of chosen) {
    const device = await harden(await newDevice(), policy);
    const guarded = program.prepare(device);
    const timer = new GpuTimer(device);
    const times: { plain: number; guarded: number }[] = [];
    await run(timer, guarded);
    const { kernels } = await device.belay.report();
    const leftAlone = kernels.filter((kernel) => kernel.redundancy === "none");
    if (leftAlone.length > 0) {
      console.error(`${workload} ${name}: leaves ${leftAlone.map(({ kernel }) => kernel).join(", ")} alone`);
      guarded.destroy();
      device.destroy();
      continue;
    }
    for (let i = 0; i < runs; i++) {
      times.push({ plain: await run(plainTimer, plain), guarded: await run(timer, guarded) });
    }
    const outputs = await guarded.read();
    const detections = await detectionsOf(device);
    const [before, after] = [median(times.map((t) => t.plain)), median(times.map((t) => t.guarded))];
    const measurement: Measurement = {
      workload,
      configuration: name,
      unprotected: before,
      protected: after,
      ratio: after / before,
      detections,
      identical: sameBits(outputs, expected),
      // The same bits need no second look.
      verified: sameBits(outputs, expected) ? verified : program.verify(outputs).ok,
      runs,
      gigabytesPerSecond: program.work.bytes / before / 1e6,
      gigaflops: program.work.flops / before / 1e6,
    };
    measurements.push(measurement);
    const cells = [
      before.toFixed(3),
      after.toFixed(3),
      measurement.ratio.toFixed(2),
      detections,
      measurement.identical,
      measurement.verified,
    ];
    table.push([workload, name, ...cells.map(String)]);
    console.error(`${workload} ${name}: ${cells.join(" ")}`);
    guarded.destroy();
    device.destroy();
  }
  plain.destroy();
  plainDevice.destroy();
}

/** One run, with the program's inputs put back first when it overwrites them. */
async function run(timer: GpuTimer, prepared: Prepared): Promise<number> {
  prepared.reset?.();
  return timer.time((encoder) => prepared.encode(encoder));
}

async function newDevice(): Promise<GPUDevice> {
  const adapter = await opened.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("the adapter is gone");
  return requestFullDevice(adapter);
}

async function detectionsOf(device: HardenedDevice): Promise<number> {
  const { kernels } = await device.belay.report();
  return kernels.reduce((sum, kernel) => sum + kernel.detections, 0);
}

function sameBits(a: Outputs, b: Outputs): boolean {
  return Object.keys(b).every((name) => {
    const bytes = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);
    return bytes(a[name]!).equals(bytes(b[name]!));
  });
}
