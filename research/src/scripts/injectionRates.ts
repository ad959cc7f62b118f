/**
 * Measures the parts of the time that a campaign spends on an injection, and the rate with several
 * processes on one GPU.
 *
 *   node research/dist/scripts/injectionRates.js [--programs reduction,matrixMultiplication]
 *     [--injections 400] [--instances 1,2,4,8] [--processes 1,4,14] [--json FILE]
 *
 * The parts are measured in one process, with so many instances of the program side by side. CPU
 * time is that of the whole process. The rate counts injections over messages, as in a campaign.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { campaignConfigurations } from "belay-cli/internal/campaign/model/configurations";
import { faultModels } from "belay-cli/internal/campaign/model/faultModel";
import type { CampaignSettings, UnitRecord } from "belay-cli/internal/campaign/model/records";
import { injectionsOf, type PlannedInjection } from "belay-cli/internal/campaign/planned";
import { inject } from "belay-cli/internal/campaign/processes/injections";
import { Session } from "belay-cli/internal/campaign/processes/session";
import { WatchedProcess } from "belay-cli/internal/campaign/processes/watchedProcess";
import { programNamed, programsModule } from "belay-cli/internal/commands/campaign/programs";
import { openGpu } from "belay-node/internal/adapter";
import Table from "cli-table3";

const { values: flags } = parseArgs({
  options: {
    programs: { type: "string", default: "reduction,matrixMultiplication" },
    injections: { type: "string", default: "400" },
    instances: { type: "string", default: "1,2,4,8" },
    processes: { type: "string", default: "1,4,14" },
    json: { type: "string" },
  },
});
const injections = Number(flags.injections);
const widths = flags.instances.split(",").map(Number);
const crowds = flags.processes.split(",").map(Number);
const seed = 1;
const configurations = campaignConfigurations({
  flavors: ["intra+lds"],
  checks: ["signature"],
  pairing: "adjacent",
});
/** A limit that no measured step reaches, in milliseconds. */
const LIMIT_MS = 120_000;

const opened = await openGpu();
console.log(opened.choice.description);

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number; cpuMs: number }> {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  return { result, ms: performance.now() - start, cpuMs: (user + system) / 1000 };
}

interface Parts {
  readonly program: string;
  readonly configuration: string;
  /** The start of a process with a device, in milliseconds. */
  readonly startMs: number;
  /** The protection and compilation of a known unit in that process, and its first run. */
  readonly openMs: number;
  /** A run of the plain program without a fault. */
  readonly plainMs: number;
  /** A run without a fault: put the buffers back, run, verify, read, compare. */
  readonly cleanMs: number;
  /** The time of an injection, by the number of instances. */
  readonly injectionMs: Readonly<Record<number, number>>;
  /** The CPU time of an injection, by the number of instances. */
  readonly injectionCpuMs: Readonly<Record<number, number>>;
  /** The injections per second over messages, by the number of processes. */
  readonly rates: Readonly<Record<number, number>>;
}

const measured: Parts[] = [];
for (const name of flags.programs.split(",")) {
  const program = await programNamed(name);
  const settings: CampaignSettings = {
    programs: [program],
    configurations,
    structures: ["ALU"],
    models: faultModels,
    margin: 0.1,
    bound: 0.1,
    minimum: 1,
    confidence: 0.95,
    seed,
  };
  for (const configuration of configurations) await measure(program, configuration, settings);
}

const table = new Table({
  head: [
    "program",
    "configuration",
    "start (ms)",
    "open (ms)",
    "plain run (ms)",
    "clean run (ms)",
    ...widths.map((width) => `${width} instances (ms)`),
    ...widths.map((width) => `${width} instances, CPU (ms)`),
    ...crowds.map((crowd) => `${crowd} processes (1/s)`),
  ],
});
for (const { program, configuration, rates, ...times } of measured) {
  const { startMs, openMs, plainMs, cleanMs, injectionMs, injectionCpuMs } = times;
  const long = [startMs, openMs].map((ms) => ms.toFixed(0));
  const injected = [injectionMs, injectionCpuMs].flatMap((by) => widths.map((width) => by[width]!));
  const short = [plainMs, cleanMs, ...injected].map((ms) => ms.toFixed(2));
  const perSecond = crowds.map((crowd) => rates[crowd]!.toFixed(0));
  table.push([program, configuration, ...long, ...short, ...perSecond]);
}
console.log(table.toString());
opened.close();
process.exit(0);

async function measure(
  program: Awaited<ReturnType<typeof programNamed>>,
  configuration: CampaignSettings["configurations"][number],
  settings: CampaignSettings,
): Promise<void> {
  const { session, unit } = await Session.open(program, configuration, opened, { counted: [], seed });
  const clean = await timed(() => session.control(injections));
  const faults = [...faultsOf(unit, settings)].map(({ fault }) => fault);
  const [injectionMs, injectionCpuMs]: Record<number, number>[] = [{}, {}];
  for (const width of widths) {
    await session.widen(width);
    const struck = await timed(() => session.inject(faults));
    injectionMs![width] = struck.ms / injections;
    injectionCpuMs![width] = struck.cpuMs / injections;
  }
  session.close();

  const question = { program: program.name, digest: program.digest, configuration, kernels: unit.kernels };
  const watched = Array.from({ length: Math.max(...crowds) }, () => new WatchedProcess(programsModule));
  const start = await timed(() => watched[0]!.ask("start", {}, LIMIT_MS));
  const open = await timed(() => watched[0]!.ask("reopen", question, LIMIT_MS));
  await Promise.all(watched.slice(1).map((each) => each.ask("reopen", question, LIMIT_MS)));
  // Instances are opened before the rates are measured.
  await Promise.all(watched.map((each) => share(each, unit, settings)));
  const rates: Record<number, number> = {};
  for (const crowd of crowds) {
    const all = await timed(() =>
      Promise.all(watched.slice(0, crowd).map((each) => share(each, unit, settings))),
    );
    rates[crowd] = (1000 * crowd * injections) / all.ms;
  }
  for (const each of watched) each.end(new Error("measured"));
  measured.push({
    program: program.name,
    configuration: configuration.name,
    startMs: start.ms,
    openMs: open.ms,
    plainMs: unit.milliseconds.plain,
    cleanMs: clean.ms / injections,
    injectionMs: injectionMs!,
    injectionCpuMs: injectionCpuMs!,
    rates,
  });
  // A measurement that is cut off keeps the rows before.
  if (flags.json) writeFileSync(flags.json, JSON.stringify(measured, null, 2));
}

function faultsOf(unit: UnitRecord, settings: CampaignSettings): Generator<PlannedInjection> {
  const part = { unit, ranges: [{ structure: "ALU", from: 0, to: injections }] } as const;
  return take(injections, injectionsOf(part, settings));
}

/** Makes the injections in a process that is open. */
async function share(watched: WatchedProcess, unit: UnitRecord, settings: CampaignSettings): Promise<void> {
  const open = () => Promise.reject(new Error("the process was lost"));
  const limits = { openLimitMs: LIMIT_MS, limitMs: () => LIMIT_MS };
  const made = inject(watched, faultsOf(unit, settings), { open, ...limits, isOpen: true });
  for await (const _ of made);
}

function* take<T>(count: number, items: Iterable<T>): Generator<T> {
  let left = count;
  for (const item of items) {
    if (left-- === 0) return;
    yield item;
  }
}
