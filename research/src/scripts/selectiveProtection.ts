/**
 * Measures selective protection. A campaign strikes each program as it is, and tells the values
 * whose faults corrupt results. A second one, with other faults, strikes the program with these
 * values computed twice, and the program as it is.
 *
 *   node research/dist/scripts/selectiveProtection.js [--programs NAMES] [--sdc 0.99]
 *       [--profile 2000] [--faults 2000] [--runs 10] [--size campaign|benchmark] [--seconds 80]
 *       [--faults-out FILE] [--json FILE]
 *
 * `--profile` and `--faults` are the faults of both campaigns, for each program. They strike small
 * programs, which have all kernels of the large ones. `--runs` are those of the timing, at the
 * given size; 0 leaves it out. Protection as a whole, and checks by algebra, are timed too. No
 * program is begun after `--seconds`. `--faults-out` writes what `belay protect --faults` reads,
 * without programs that cost less in another way. The script fails if a run without a fault raises
 * an alarm, or if a timed kernel was in no campaign.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type CampaignConfiguration, unprotected } from "belay-cli/internal/campaign/model/configurations";
import { drawFault, faultModels, modelsFor } from "belay-cli/internal/campaign/model/faultModel";
import { classify } from "belay-cli/internal/campaign/model/outcome";
import type { StruckKernel } from "belay-cli/internal/campaign/model/profile";
import { Draws } from "belay-cli/internal/campaign/model/random";
import { Session } from "belay-cli/internal/campaign/processes/session";
import { programNamed } from "belay-cli/internal/commands/campaign/programs";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { algebra } from "belay-gpu/algebra";
import type { KernelFaults, SelectiveCover } from "belay-gpu/internal/compiler/contract";
import { digestOf } from "belay-gpu/internal/compiler/selectiveCover";
import type { Policy } from "belay-gpu/internal/runtime/context/policy";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { geometricMean } from "simple-statistics";
import { measureCost, withGuarded } from "../bench/measuring/overhead.ts";
import { TimedProgram } from "../bench/measuring/timing.ts";
import { catalog } from "../workloads/samples/index.ts";

const { values: flags } = parseArgs({
  options: {
    programs: { type: "string" },
    sdc: { type: "string", default: "0.99" },
    profile: { type: "string", default: "2000" },
    faults: { type: "string", default: "2000" },
    runs: { type: "string", default: "10" },
    size: { type: "string", default: "benchmark" },
    seconds: { type: "string", default: "80" },
    "faults-out": { type: "string" },
    json: { type: "string" },
  },
});
const [sdc, profileFaults, otherFaults, runs] = [flags.sdc, flags.profile, flags.faults, flags.runs].map(
  Number,
) as [number, number, number, number];
const end = performance.now() + 1000 * Number(flags.seconds);

/** The result of one program. */
interface Row {
  readonly program: string;
  /** The share of values that are computed twice, by their executions. */
  readonly twice: number;
  /** The silent corruptions in faults that struck: as it is, and protected. */
  readonly plain: Rate;
  readonly protected: Rate;
  /** The share of silent corruption that is detected, with both runs' executions. */
  readonly covered: number;
  /** The times relative to the program as it is; absent without timing. */
  readonly times?: Times;
  /** The kernels of the timed program that no campaign has struck. */
  readonly unknown: readonly string[];
  readonly alarms: number;
}

/** The times of a program relative to it as it is. */
interface Times {
  /** With chosen values computed twice. */
  readonly selective: number;
  /** With all of it protected. */
  readonly whole: number;
  /** With sums checked by algebra, if it has any. */
  readonly checked?: number;
}

interface Rate {
  readonly struck: number;
  readonly silent: number;
  /** The executed words that a fault may strike. */
  readonly words: number;
}

const opened = await openGpu();
const rows: Row[] = [];
const faults: KernelFaults[] = [];
const names = flags.programs?.split(",") ?? catalog.map(({ name }) => name);
for (const name of names) {
  if (performance.now() > end) break;
  rows.push(await measure(name));
  const row = rows.at(-1)!;
  console.error(`${name}: ${JSON.stringify(row)}`);
}
console.log(opened.choice.description);
const silentRate = ({ silent, struck }: Rate) => `${silent} of ${struck}`;
console.log(
  alignColumns([
    [
      "program",
      "computed twice",
      "silent, as it is",
      "silent, protected",
      "detected",
      "time",
      "as a whole",
      "by algebra",
    ],
    ...rows.map((row) => [
      row.program,
      `${(100 * row.twice).toFixed(0)} %`,
      silentRate(row.plain),
      silentRate(row.protected),
      `${(100 * row.covered).toFixed(2)} %`,
      row.times?.selective.toFixed(2) ?? "",
      row.times?.whole.toFixed(2) ?? "",
      row.times?.checked?.toFixed(2) ?? "",
    ]),
  ]),
);
const timed = rows.flatMap(({ times }) => times ?? []);
const mean = (of: (times: Times) => number) => geometricMean(timed.map(of)).toFixed(3);
if (timed.length > 0)
  console.log(
    `geometric means: ${mean(({ selective }) => selective)}, as a whole ${mean(({ whole }) => whole)}, the cheapest ${mean(cheapestOf)}`,
  );
const isUnsound = ({ alarms, unknown }: Row) => alarms > 0 || unknown.length > 0;
for (const { program, unknown } of rows)
  if (unknown.length > 0) console.log(`${program}: no campaign has struck ${unknown.join(", ")}`);
if (flags["faults-out"]) writeFileSync(flags["faults-out"], JSON.stringify(faults));
if (flags.json) writeFileSync(flags.json, JSON.stringify({ device: opened.choice.description, sdc, rows }));
opened.close();
process.exit(rows.some(isUnsound) ? 1 : 0);

function cheapestOf({ selective, whole, checked = Infinity }: Times): number {
  return Math.min(selective, whole, checked);
}

async function measure(name: string): Promise<Row> {
  const first = await strike(name, unprotected, "profile", profileFaults);
  const own = first.kernels.map((kernel): KernelFaults => {
    const values = kernel.sites.filter(({ kind }) => kind === "value" || kind === "address");
    return {
      source: digestOf(kernel.source),
      entryPoint: kernel.entryPoint,
      values: values.map(({ id, span, executions }) => ({
        span,
        executions,
        injected: first.bySite.get(`${kernel.kernel} ${id}`)?.struck ?? 0,
        silent: first.bySite.get(`${kernel.kernel} ${id}`)?.silent ?? 0,
      })),
    };
  });
  const cover: SelectiveCover = { sdc, faults: own };
  const policy = { ...unprotected.policy, redundancy: "selective", cover } as const;
  const plain = await strike(name, unprotected, "again", otherFaults);
  const selective = await strike(name, { name: "selective", policy }, "again", otherFaults);
  const exposed = ({ struck, silent, words }: Rate) => (silent / Math.max(1, struck)) * words;
  const before = exposed(plain);
  const time = runs > 0 ? await timeOf(name, cover) : undefined;
  if (!time || time.times.selective === cheapestOf(time.times)) faults.push(...own);
  return {
    program: name,
    twice: selective.words / plain.words - 1,
    plain: { struck: plain.struck, silent: plain.silent, words: plain.words },
    protected: { struck: selective.struck, silent: selective.silent, words: selective.words },
    covered: before === 0 ? 1 : 1 - exposed(selective) / before,
    ...(time && { times: time.times }),
    unknown: time?.unknown ?? [],
    alarms: selective.alarms + (time?.detections ?? 0),
  };
}

/** Strikes values and registers of a program. Counts silent corruption by site. */
async function strike(name: string, configuration: CampaignConfiguration, seed: string, count: number) {
  const program = { ...(await programNamed(name)), runs: sampleNamed(name).small() };
  const { session, unit } = await Session.open(program, configuration, opened, { counted: [], seed: 1 });
  const kernels = unit.kernels.filter((each) => modelsFor(each, "VRF", faultModels).length > 0);
  const words = ({ sites }: StruckKernel) =>
    sites.reduce(
      (sum, { kind, executions, components }) =>
        kind === "value" || kind === "address" ? sum + executions * components : sum,
      0,
    );
  const total = kernels.reduce((sum, each) => sum + words(each), 0);
  const drawn = Array.from({ length: count }, (_, i) => {
    const kernel = new Draws(`${seed}/${name}/${i}/kernel`).weighted(kernels, words)!;
    const models = modelsFor(kernel, "VRF", faultModels);
    return { kernel, ...drawFault(`${seed}/${name}/${i}`, kernel, "VRF", models, 1) };
  });
  const { detections } = await session.control(3);
  await session.widen(4);
  const observations = await session.inject(drawn.map(({ fault }) => fault));
  session.close();
  const bySite = new Map<string, { struck: number; silent: number }>();
  let [struck, silent] = [0, 0];
  for (const [i, observation] of observations.entries()) {
    const outcome = classify(observation);
    if (outcome === "notInjected") continue;
    const { kernel, fault } = drawn[i]!;
    const key = `${kernel.kernel} ${fault.site}`;
    const site = bySite.get(key) ?? { struck: 0, silent: 0 };
    bySite.set(key, site);
    site.struck++;
    struck++;
    if (outcome !== "sdc") continue;
    site.silent++;
    silent++;
  }
  return { kernels: unit.kernels, bySite, struck, silent, words: total, alarms: detections };
}

/** Returns the times of the protected program, relative to the program as it is. */
async function timeOf(name: string, cover: SelectiveCover) {
  const { campaign, benchmark } = sampleNamed(name);
  const program = flags.size === "benchmark" ? benchmark() : campaign();
  using plain = new TimedProgram(program, await newDevice(opened));
  await plain.run();
  const expected = await plain.read();
  const timeUnder = async (policy: Policy) => {
    const timed = await withGuarded(program, await newDevice(opened), policy, async (guarded) => {
      const { ratio, detections } = await measureCost(guarded, { unprotected: plain, expected }, runs);
      const { kernels } = await guarded.device.belay.report();
      return { ratio, detections, kernels };
    });
    if ("refused" in timed) throw new Error(`${name}: ${timed.refused}`);
    return timed;
  };
  const selective = await timeUnder({ cover });
  const whole = await timeUnder({});
  const checked = await timeUnder({ algebra: algebra({ searchesAtOnce: true }) });
  const hasSums = checked.kernels.some(({ sums }) => (sums?.checked ?? 0) > 0);
  const known = new Set(cover.faults.map(({ entryPoint }) => entryPoint));
  return {
    times: {
      selective: selective.ratio,
      whole: whole.ratio,
      ...(hasSums && { checked: checked.ratio }),
    },
    unknown: selective.kernels.flatMap(({ kernel, entryPoint }) => (known.has(entryPoint) ? [] : [kernel])),
    detections: selective.detections + whole.detections + checked.detections,
  };
}

function sampleNamed(name: string) {
  const found = catalog.find((each) => each.name === name);
  if (!found) throw new Error(`there is no program ${name}`);
  return found;
}
