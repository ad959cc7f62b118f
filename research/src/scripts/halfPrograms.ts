/**
 * Runs programs on 16-bit floats under each configuration of redundancy, and compares every bit of
 * their results with the plain device's. Each program then runs under random faults.
 *
 *   node research/dist/scripts/halfPrograms.js [--time-limit 240] [--repeat 60] [--faults 20]
 *       [--only NAMES] [--seed 1] [--validate] [--out FILE]
 *
 * The programs are those of the paper with `f16` in place of `f32`, and a transformer. Further
 * kernels mix both types, pack and unpack halves, and store vectors of three. A driver may round a
 * protected kernel in another way. An audit of all its workgroups then judges each stored number by
 * the accuracy that WGSL grants.
 *
 * The script ends with an error when a result differs and is not right by that. It also does when
 * an alarm is raised without a fault, or a fault ends in a wrong result. With `--validate`, Dawn's
 * null backend judges the emitted code, and nothing is computed.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { AuditReport, Policy } from "belay-gpu";
import { auditor } from "belay-gpu/audit";
import { configurationsFor, describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { harden } from "belay-gpu/internal/runtime/harden";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { createGpu, destroyDevices } from "belay-node/internal/gpu";
import { createDecode, createPrefill } from "../workloads/model/programs.ts";
import { shapes } from "../workloads/model/shape.ts";
import type { Outputs, Prepared } from "../workloads/program.ts";
import { randomBelow } from "../workloads/random.ts";
import { catalog } from "../workloads/samples/index.ts";
import { asHalves } from "./halfPrograms/asHalves.ts";
import { mixedPrograms } from "./halfPrograms/mixedKernels.ts";

const { values: flags } = parseArgs({
  options: {
    "time-limit": { type: "string", default: "240" },
    repeat: { type: "string", default: "60" },
    faults: { type: "string", default: "20" },
    only: { type: "string" },
    seed: { type: "string", default: "1" },
    validate: { type: "boolean", default: false },
    out: { type: "string" },
  },
});
const repeat = Number(flags.repeat);
const faults = Number(flags.faults);
const seed = Number(flags.seed);
const end = performance.now() + 1000 * Number(flags["time-limit"]);

interface HalfProgram {
  readonly name: string;
  /** Prepares the program, with inputs as 16-bit floats. */
  prepare(device: GPUDevice): Promise<Prepared>;
}

const model = { shape: shapes.campaign, precision: "f16" } as const;
const all: readonly HalfProgram[] = [
  { name: "prefill", prepare: async (device) => createPrefill(model).prepare(device) },
  { name: "decode", prepare: async (device) => createDecode(model).prepare(device) },
  ...mixedPrograms.map(({ name, prepare }) => ({
    name,
    prepare: async (device: GPUDevice) => prepare(device),
  })),
  ...catalog.map(({ name, campaign }) => ({
    name,
    async prepare(device: GPUDevice) {
      const { device: halved, convert } = asHalves(device);
      const prepared = campaign().prepare(halved);
      await convert();
      return prepared;
    },
  })),
];

async function runOnce(device: GPUDevice, prepared: Prepared, times = 1): Promise<Outputs> {
  for (let i = 0; i < times; i++) {
    prepared.reset?.();
    const encoder = device.createCommandEncoder();
    prepared.encode(encoder);
    device.queue.submit([encoder.finish()]);
  }
  return prepared.read();
}

/** Returns whether all halves have the same bits. NaN is equal to each NaN. */
function isSame(a: Outputs, b: Outputs): boolean {
  return Object.entries(a).every(([name, view]) => {
    const [left, right] = [view, b[name]!].map(
      ({ buffer, byteOffset, byteLength }) => new Uint16Array(buffer, byteOffset, byteLength / 2),
    ) as [Uint16Array, Uint16Array];
    return (
      left.length === right.length &&
      left.every((half, i) => half === right[i] || (isNaNHalf(half) && isNaNHalf(right[i]!)))
    );
  });
}

const isNaNHalf = (half: number) => (half & 0x7fff) > 0x7c00;

const gpu = await createGpu(
  flags.validate
    ? ["backend=null", "enable-dawn-features=allow_unsafe_apis"]
    : ["enable-dawn-features=vulkan_enable_f16_on_nvidia"],
);
const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
if (!adapter?.features.has("shader-f16")) throw new Error("no adapter with 16-bit floats");
const native = await requestFullDevice(adapter);
const errors: string[] = [];
// Kernels that a configuration leaves alone are counted, not told one by one.
console.warn = () => {};
native.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
const configurations: readonly Policy[] = [
  { redundancy: "auto" },
  ...configurationsFor([...native.features]),
];
const nameOf = (policy: Policy) =>
  policy.redundancy === "auto" ? "auto" : describeConfiguration(policy as never);

interface Trial {
  readonly program: string;
  readonly policy: string;
  readonly runs: number;
  readonly identical: boolean;
  readonly alarms: number;
  readonly leftAlone: number;
  /** The verdicts on the workgroups, if the results are not identical. */
  readonly judged?: Pick<AuditReport, "agreed" | "undecided" | "disagreed">;
  readonly failure?: string;
}
interface Struck {
  readonly program: string;
  readonly faults: number;
  readonly detected: number;
  readonly wrong: number;
}
const trials: Trial[] = [];
const struck: Struck[] = [];
const skipped: Record<string, string> = {};

/** Runs a program under a policy without a fault. */
async function runWithoutFault(
  program: HalfProgram,
  policy: Policy,
  expected: Outputs,
): Promise<Omit<Trial, "program" | "policy">> {
  // The null backend has no contents to compare.
  const device = harden(native, flags.validate ? { ...policy, onFault: "report" } : policy);
  try {
    const prepared = await program.prepare(device);
    let identical = isSame(await runOnce(device, prepared), expected);
    identical &&= isSame(await runOnce(device, prepared, repeat), expected);
    prepared.destroy();
    const report = await device.belay.report();
    const judged = identical || flags.validate ? undefined : await judge(program, policy);
    const leftAlone = report.kernels.filter(({ redundancy }) => redundancy === "none").length;
    const alarms = report.faults.length + report.giveUps;
    if (flags.validate) return { runs: 0, identical: true, alarms: 0, leftAlone };
    return { runs: repeat + 1, identical, ...(judged && { judged }), alarms, leftAlone };
  } catch (error) {
    return { runs: 0, identical: false, alarms: 0, leftAlone: 0, failure: messageOf(error) };
  }
}

/** Runs a program once. The reference executor judges each number of each workgroup. */
async function judge(program: HalfProgram, policy: Policy): Promise<Trial["judged"]> {
  const device = harden(native, { ...policy, audit: auditor({ rate: 1, budget: 1, seed }) });
  const prepared = await program.prepare(device);
  await runOnce(device, prepared);
  const { agreed, undecided, disagreed } = (await device.belay.report()).audit!;
  prepared.destroy();
  return { agreed, undecided, disagreed };
}

/** Strikes values of a program that runs by default, one fault a run. */
async function strike(program: HalfProgram, row: number): Promise<Struck> {
  const device = harden(native, { injectFaults: true });
  const prepared = await program.prepare(device);
  // Fault sites may let a driver fuse other operations than in the plain kernel.
  const expected = await runOnce(device, prepared);
  const kernels = device.belay.faultSites().filter(({ sites }) => sites.length > 0);
  const draw = (limit: number, at: number) => randomBelow(limit, seed + row, at);
  let [injected, detected, wrong] = [0, 0, 0];
  for (let i = 0; i < faults && performance.now() < end; i++) {
    const { kernel, sites } = kernels[draw(kernels.length, 8 * i)]!;
    const values = sites.filter(({ kind }) => kind === "value");
    if (values.length === 0) continue;
    const before = (await device.belay.report()).faults.length;
    device.belay.arm({
      kernel,
      site: values[draw(values.length, 8 * i + 1)]!.id,
      replica: draw(2, 8 * i + 2) as 0 | 1,
      effect: { xor: 1 << draw(16, 8 * i + 3) },
      workgroup: [0, 0, 0],
      localIndex: draw(32, 8 * i + 4),
    });
    const result = await runOnce(device, prepared).catch(() => undefined);
    if ((await device.belay.strikes()) > 0) injected++;
    device.belay.disarm();
    if ((await device.belay.report()).faults.length > before) detected++;
    if (result && !isSame(result, expected)) wrong++;
  }
  prepared.destroy();
  return { program: program.name, faults: injected, detected, wrong };
}

const only = flags.only?.split(",");
for (const [row, program] of all.entries()) {
  if (only && !only.includes(program.name)) continue;
  native.pushErrorScope("validation");
  let expected: Outputs;
  try {
    const prepared = await program.prepare(native);
    expected = await runOnce(native, prepared);
    prepared.destroy();
  } catch (error) {
    skipped[program.name] = messageOf(error).split("\n")[0]!;
  }
  const error = await native.popErrorScope();
  if (error) skipped[program.name] = error.message.split("\n")[0]!;
  if (skipped[program.name]) continue;
  for (const policy of configurations) {
    if (performance.now() > end) break;
    trials.push({
      program: program.name,
      policy: nameOf(policy),
      ...(await runWithoutFault(program, policy, expected!)),
    });
  }
  if (faults > 0 && !flags.validate) struck.push(await strike(program, row));
  process.stderr.write(`${program.name}: ${trials.filter((each) => each.program === program.name).length}\n`);
}

const isRight = ({ identical, judged }: Trial) =>
  identical || (judged !== undefined && judged.agreed > 0 && judged.undecided + judged.disagreed === 0);
const bad = trials.filter((each) => !isRight(each) || each.alarms > 0 || each.failure);
const sum = <T>(list: readonly T[], of: (each: T) => number) =>
  list.reduce((total, each) => total + of(each), 0);
const summary = {
  programs: new Set(trials.map(({ program }) => program)).size,
  trials: trials.length,
  runs: sum(trials, ({ runs }) => runs),
  leftAlone: sum(trials, ({ leftAlone }) => leftAlone),
  different: trials.filter(({ identical, failure }) => !identical && !failure).length,
  differentButRight: trials.filter((each) => !each.identical && isRight(each)).length,
  alarms: sum(trials, ({ alarms }) => alarms),
  failures: trials.filter(({ failure }) => failure).length,
  faults: sum(struck, (each) => each.faults),
  detected: sum(struck, (each) => each.detected),
  wrong: sum(struck, (each) => each.wrong),
  errors: errors.length,
};
console.log(JSON.stringify({ summary, skipped, struck, bad: bad.slice(0, 20), errors: errors.slice(0, 3) }));
if (flags.out) writeFileSync(flags.out, JSON.stringify({ summary, skipped, struck, trials, errors }));
native.destroy();
destroyDevices(gpu);
process.exitCode = bad.length + summary.wrong + errors.length === 0 && trials.length > 0 ? 0 : 1;
