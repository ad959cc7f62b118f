/**
 * Measures the time that an audit takes from a program. Each program runs on one hardened device,
 * in short blocks with and without the audit, in pairs of random order.
 *
 *   node research/dist/scripts/auditCost.js [--seconds 90] [--only NAME,NAME] [--elements 16777216]
 *       [--block 60] [--budget 0.01] [--json FILE]
 *
 * The programs are those of `belay bench programs`, and share the time. `--block` is the least time
 * of a block, in milliseconds. A block with the audit waits until its samples are judged, which
 * programs do not. The audit may spend half of the budget of all the time, as it is on in half of
 * it. Intervals of 95 % come from resampled pairs.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { harden } from "belay-gpu";
import { auditor } from "belay-gpu/audit";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { Audit, AuditReport, AuditStarter } from "belay-gpu/internal/runtime/context/auditing";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { geometricMean, median, quantile, sum } from "simple-statistics";
import type { UsedProgram } from "../bench/programs/program.ts";
import { samplePrograms } from "../bench/programs/samples.ts";
import { tensorflowPrograms } from "../bench/programs/tensorflow.ts";
import { threePrograms } from "../bench/programs/three.ts";
import { typegpuPrograms } from "../bench/programs/typegpu.ts";
import { randomBelow } from "../workloads/random.ts";

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "90" },
    only: { type: "string" },
    elements: { type: "string", default: `${2 ** 24}` },
    block: { type: "string", default: "60" },
    budget: { type: "string", default: "0.01" },
    json: { type: "string" },
  },
});
const seconds = Number(flags.seconds);
const elements = Number(flags.elements);
const block = Number(flags.block);
const budget = Number(flags.budget);
/** The runs before the blocks, in which pipelines are compiled. */
const warmup = 5;

/** The milliseconds of two neighboring blocks, for each run. */
interface Pair {
  readonly on: number;
  readonly off: number;
}

interface ProgramCost {
  readonly name: string;
  readonly source: string;
  readonly pairs: readonly Pair[];
  readonly report: AuditReport;
  /** The milliseconds of all blocks. */
  readonly total: number;
}

/** An auditor that can be off, and the audit that it has begun. */
class Switch implements AuditStarter {
  readonly #auditor = auditor({ budget: budget / 2 }) as AuditStarter;
  readonly rate = this.#auditor.rate;
  readonly budget = this.#auditor.budget;
  audit!: Audit;
  isOn = false;

  begin(...args: Parameters<AuditStarter["begin"]>): Audit {
    const audit = this.#auditor.begin(...args);
    this.audit = audit;
    return {
      get report() {
        return audit.report;
      },
      around: (commands, submit) => (this.isOn ? audit.around(commands, submit) : submit()),
      settle: (epochs, isClean) => audit.settle(epochs, isClean),
      finished: () => audit.finished(),
    };
  }
}

const opened = await openGpu({ nvidiaHalves: true });

async function costOf({ name, source, prepare }: UsedProgram, most: number): Promise<ProgramCost> {
  const native = await newDevice(opened);
  try {
    const audit = new Switch();
    const { run } = await prepare(harden(native, { audit }));
    for (let i = 0; i < warmup; i++) await run();
    const once = await timeOf(run, 3);
    const runs = Math.max(1, Math.ceil(block / once));
    const begin = performance.now();
    const pairs: Pair[] = [];
    while (performance.now() - begin < most || pairs.length < 2) {
      const times = { on: 0, off: 0 };
      const order =
        randomBelow(2, 1, pairs.length) === 0 ? (["on", "off"] as const) : (["off", "on"] as const);
      for (const each of order) {
        audit.isOn = each === "on";
        times[each] = await timeOf(run, runs, () => (audit.isOn ? audit.audit.finished() : undefined));
      }
      pairs.push(times);
    }
    return { name, source, pairs, report: audit.audit.report, total: performance.now() - begin };
  } finally {
    native.destroy();
  }
}

/** Returns the milliseconds of a run, with those of `end` after all runs. */
async function timeOf(
  run: () => Promise<unknown>,
  runs: number,
  end: () => Promise<void> | undefined = () => undefined,
): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < runs; i++) await run();
  await end();
  return (performance.now() - start) / runs;
}

const ratioOfSums = (pairs: readonly Pair[]) =>
  sum(pairs.map(({ on }) => on)) / sum(pairs.map(({ off }) => off));
const medianRatio = (pairs: readonly Pair[]) => median(pairs.map(({ on, off }) => on / off));

/** Returns the geometric mean of programs' ratios, and an interval of 95 % from resampled pairs. */
function withInterval(
  costs: readonly ProgramCost[],
  ratioOf: (pairs: readonly Pair[]) => number,
): readonly [value: number, low: number, high: number] {
  let drawn = 0;
  const resampled = (pairs: readonly Pair[]) =>
    pairs.map(() => pairs[randomBelow(pairs.length, 2, drawn++)]!);
  const means = Array.from({ length: 1000 }, () =>
    geometricMean(costs.map(({ pairs }) => ratioOf(resampled(pairs)))),
  );
  return [
    geometricMean(costs.map(({ pairs }) => ratioOf(pairs))),
    quantile(means, 0.025),
    quantile(means, 0.975),
  ];
}

const only = flags.only?.split(",");
const programs = [
  ...(await tensorflowPrograms(elements)),
  ...typegpuPrograms(elements),
  ...threePrograms(elements),
  ...samplePrograms(elements < 2 ** 20 ? "small" : "benchmark"),
].filter(({ name }) => !only || only.includes(name));
const costs: ProgramCost[] = [];
for (const program of programs)
  await costOf(program, (1000 * seconds) / programs.length - 500).then(
    (cost) => costs.push(cost),
    (error: unknown) => console.error(`${program.name}: ${messageOf(error)}`),
  );
opened.close();

const shown = (numbers: readonly number[]) => numbers.map((each) => each.toFixed(4)).join(" ");
const rows = costs.map((cost) => [
  cost.name,
  `${cost.pairs.length}`,
  shown(withInterval([cost], ratioOfSums)),
  shown(withInterval([cost], medianRatio)),
  (cost.report.milliseconds / (cost.total / 2)).toFixed(4),
  `${cost.report.workgroups}`,
]);
const heads = ["program", "pairs", "sums, 95 %", "medians, 95 %", "host time of the audit", "judged"];
console.log(alignColumns([heads, ...rows]));
const all = { sums: withInterval(costs, ratioOfSums), medians: withInterval(costs, medianRatio) };
console.log(`all: sums ${shown(all.sums)}, medians ${shown(all.medians)}`);
if (flags.json)
  writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice.description, all, costs }, null, 1));
process.exit();
