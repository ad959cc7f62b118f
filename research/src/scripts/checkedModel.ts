/**
 * Splits the time of a transformer's prompt into parts: on a plain device, under redundancy, and
 * with checks by algebra.
 *
 *   node research/dist/scripts/checkedModel.js [--size full] [--runs 5] [--least N] [--json FILE]
 *
 * `--least` is the checker's least number of multiplications. There are three tables:
 *
 * - the protection of the kernels;
 * - the wall time with the host's parts of it, and the GPU's time from its first command on;
 * - the times of the native commands on the GPU's clock, each dispatch in a pass of its own.
 *
 * Figures are medians of runs. The devices take turns.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { type HardenedDevice, harden } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import { describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { median } from "simple-statistics";
import { takeTurns } from "../bench/measuring/takeTurns.ts";
import { shapes } from "../workloads/model/shape.ts";
import { createTransformer, makeModel } from "../workloads/model/transformer.ts";
import { type NativeRun, type NativeTime, NativeTimes } from "./checkedModel/nativeTimes.ts";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "small" },
    runs: { type: "string", default: "5" },
    least: { type: "string" },
    json: { type: "string" },
  },
});
const shape = shapes[flags.size as keyof typeof shapes];
const runs = Number(flags.runs);
const made = makeModel(shape, 1);

/** The times of one run as the host sees them, in milliseconds. */
interface HostTimes {
  readonly encoding: number;
  readonly submission: number;
  readonly waiting: number;
}

function prepare(device: GPUDevice): () => Promise<HostTimes> {
  const model = createTransformer(device, { shape, precision: "f32", made });
  const size = 4 * shape.vocabulary;
  const staging = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  return async () => {
    const start = performance.now();
    const encoder = device.createCommandEncoder();
    model.encodePrompt(encoder);
    encoder.copyBufferToBuffer(model.logits, 0, staging, 0, size);
    const commands = encoder.finish();
    const encoded = performance.now();
    device.queue.submit([commands]);
    const submitted = performance.now();
    await staging.mapAsync(GPUMapMode.READ);
    staging.getMappedRange().slice(0);
    staging.unmap();
    const end = performance.now();
    return { encoding: encoded - start, submission: submitted - encoded, waiting: end - submitted };
  };
}

using opened = await openGpu();
// It replaces methods before a device is hardened.
const native = new NativeTimes(await newDevice(opened));
const least = flags.least === undefined ? {} : { leastMultiplications: Number(flags.least) };
const policies = {
  plain: undefined,
  default: {},
  algebra: { algebra: algebra(least) },
} as const;
type PolicyName = keyof typeof policies;

/** The times of one run, and of its native commands: in their passes, and each in its own one. */
interface Sample {
  readonly host: HostTimes;
  readonly whole: NativeRun;
  readonly split: NativeRun;
}

/** The times of one device: those of the host, and those of native commands on the GPU, by name. */
interface Row {
  readonly policy: PolicyName;
  readonly host: HostTimes;
  /** The GPU's time from the first command of a run to the last one. */
  readonly span: number;
  readonly commands: ReadonlyMap<string, NativeTime>;
}

const configurations: (readonly string[])[] = [];
const devices: { readonly policy: PolicyName; readonly device: GPUDevice; run(): Promise<Sample> }[] = [];
for (const policy of Object.keys(policies) as PolicyName[]) {
  const plain = await newDevice(opened);
  const device = policy === "plain" ? plain : harden(plain, policies[policy]);
  const run = prepare(device);
  for (let i = 0; i < 3; i++) await run();
  if (policy === "algebra") {
    const start = performance.now();
    const { kernels } = await (device as HardenedDevice).belay.report();
    console.log(`the search ended after ${((performance.now() - start) / 1000).toFixed(1)} s more`);
    for (const { kernel, chosen, diagnostics } of kernels)
      configurations.push([
        kernel,
        chosen ? `${describeConfiguration(chosen)}, predicted ${chosen.predicted?.toFixed(2)}` : "",
        diagnostics.map(({ message }) => message).join("; "),
      ]);
    for (let i = 0; i < 3; i++) await run();
  }
  const sample = async () => ({
    host: await run(),
    whole: await native.of(plain, run, false),
    split: await native.of(plain, run, true),
  });
  devices.push({ policy, device, run: sample });
}
const samples = await takeTurns(
  devices[0]!.device,
  devices.map(({ run }) => run),
  { rounds: runs },
);
const rows: Row[] = [];
for (const [i, { policy, device }] of devices.entries()) {
  const all = samples[i]!;
  const medianOf = (of: (sample: Sample) => number) => median(all.map(of));
  rows.push({
    policy,
    host: {
      encoding: medianOf(({ host }) => host.encoding),
      submission: medianOf(({ host }) => host.submission),
      waiting: medianOf(({ host }) => host.waiting),
    },
    span: medianOf(({ whole }) => whole.span),
    commands: new Map(
      [...all[0]!.split.times].map(([name, { count }]) => [
        name,
        { count, milliseconds: medianOf(({ split }) => split.times.get(name)?.milliseconds ?? 0) },
      ]),
    ),
  });
  if (policy === "algebra") {
    const { kernels, snapshots, checks } = await (device as HardenedDevice).belay.report();
    console.log(`${checks} checks, ${snapshots.taken} snapshots in all runs`);
    for (const { kernel, sums } of kernels) if (sums!.checked > 0) console.log(kernel, JSON.stringify(sums));
  }
}
for (const { device } of devices) device.destroy();
console.log(opened.choice.description);
console.log(alignColumns([["kernel", "configuration", "gaps"], ...configurations]));
const number = (milliseconds: number) => milliseconds.toFixed(3);
console.log(
  alignColumns([
    ["device", "all, ms", "encoding", "submission", "waiting", "on the GPU", "commands alone"],
    ...rows.map(({ policy, host: { encoding, submission, waiting }, span, commands }) => {
      const alone = [...commands.values()].reduce((sum, { milliseconds }) => sum + milliseconds, 0);
      return [
        policy,
        ...[encoding + submission + waiting, encoding, submission, waiting, span, alone].map(number),
      ];
    }),
  ]),
);
const names = [...new Set(rows.flatMap(({ commands }) => [...commands.keys()]))];
const timeIn = ({ commands }: Row, name: string) => commands.get(name)?.milliseconds ?? 0;
names.sort((a, b) => timeIn(rows.at(-1)!, b) - timeIn(rows.at(-1)!, a));
console.log(
  alignColumns([
    ["commands", ...rows.map(({ policy }) => `${policy}: count, ms`)],
    ...names.map((name) => [
      name,
      ...rows.map((row) => {
        const time = row.commands.get(name);
        return time ? `${time.count} ${number(time.milliseconds)}` : "";
      }),
    ]),
  ]),
);
if (flags.json) {
  const shown = rows.map((row) => ({ ...row, commands: Object.fromEntries(row.commands) }));
  writeFileSync(flags.json, JSON.stringify({ ...flags, device: opened.choice.description, rows: shown }));
}
