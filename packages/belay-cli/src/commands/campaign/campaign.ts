import type { Check, Pairing } from "belay-gpu/internal/compiler/contract";
import type { Progress } from "belay-gpu/internal/diagnostics/progress";
import { type MemoryCode, memoryCodes } from "belay-gpu/internal/ecc/scheme";
import { Command, InvalidArgumentError, Option } from "commander";
import { runCampaign } from "../../campaign/campaign.ts";
import { campaignConfigurations, campaignFlavors } from "../../campaign/model/configurations.ts";
import {
  type FaultModel,
  faultModels,
  programStructures,
  type StruckStructure,
  struckStructures,
} from "../../campaign/model/faultModel.ts";
import type { CampaignSettings, Header, Shard } from "../../campaign/model/records.ts";
import type { FaultWeights } from "../../campaign/model/weights.ts";
import { planCampaign } from "../../campaign/queue/planner.ts";
import { RedisAddress } from "../../campaign/queue/redis.ts";
import type { Results } from "../../campaign/results/results.ts";
import { summarize } from "../../campaign/results/summary.ts";
import { readHeader } from "../../campaign/store/store.ts";
import {
  count,
  namesFrom,
  pairingOption,
  path,
  refuseBeside,
  timeoutOption,
  whole,
} from "../../shared/options.ts";
import { exitStatus } from "../../shared/terminal/failure.ts";
import type { Io } from "../../shared/terminal/io.ts";
import { withProgress } from "../../shared/terminal/progress.ts";
import { readVersion } from "../../shared/version.ts";
import { askWorkload } from "../../shared/workloads/askWorkload.ts";
import { campaignInstrumentCommand } from "../protect.ts";
import { jobs, weightsOption } from "./options.ts";
import { digestOf, isModule, namesOf, programsModule } from "./programs.ts";
import { campaignReplayCommand } from "./replay.ts";
import { printCampaign } from "./report.ts";
import { campaignSignatureCommand } from "./signature.ts";
import { campaignCompareCommand, campaignMergeCommand } from "./stores.ts";
import { campaignWorkCommand, withInterrupt } from "./work.ts";

interface Flags {
  readonly flavors: readonly (typeof campaignFlavors)[number][];
  readonly checks: readonly Check[];
  readonly pairing: Pairing;
  readonly memory: readonly MemoryCode[];
  readonly models: readonly FaultModel[];
  readonly structures: readonly StruckStructure[];
  readonly margin: number;
  readonly bound?: number;
  readonly minimum: number;
  readonly confidence: number;
  readonly seed: number;
  readonly shard: Shard;
  readonly jobs: number;
  readonly queue?: string;
  readonly timeLimit?: number;
  readonly timeout: number;
  readonly resume: boolean;
  readonly out: string;
  readonly weights: FaultWeights;
  readonly json: boolean;
}

/** The flavors of redundancy, which fit most programs. */
const usualFlavors = campaignFlavors.filter((flavor) => flavor !== "algebra");
const checks = ["signature", "store"] as const;
const memorySchemes = memoryCodes;

/**
 * Makes the command `belay campaign`, which injects faults and measures which of them are detected.
 */
export function campaignCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("campaign")
    .description(
      "Injects faults into a workload, unprotected and in each flavor of redundancy, until the rate of silent corruption is known well enough for every structure of a GPU. The exit status is 0 only when the claimed coverage held, runs without a fault raised no alarm, and nothing was left out. A campaign that was interrupted goes on by --resume.",
    )
    .enablePositionalOptions()
    .argument(
      "[workload]",
      "a module that exports a workload, a name of the catalog, several with commas between, or all; the catalog is in a clone of Belay's repository only; with --resume, by default that of the campaign",
    )
    .addOption(
      list("--flavors <flavors>", "protections to measure beside none", campaignFlavors, usualFlavors),
    )
    .addOption(list("--checks <checks>", "when replicas are compared", checks, ["signature"]))
    .addOption(pairingOption())
    .addOption(list("--memory <schemes>", "codes that protect memory, without redundancy", memorySchemes, []))
    .addOption(list("--models <models>", "how faults change what they strike", faultModels, faultModels))
    .addOption(list("--structures <structures>", "what faults strike", struckStructures, programStructures))
    .addOption(
      new Option("--margin <rate>", "how far an interval may reach to each side")
        .argParser(rate)
        .default(0.01, "1%"),
    )
    .option(
      "--bound <rate>",
      "silent corruption allowed where coverage is claimed, with the interval; default: the margin",
      rate,
    )
    .option("--minimum <count>", "effective injections of each structure and protection, at least", count, 1)
    .addOption(
      new Option("--confidence <percent>", "of the intervals").argParser(confidence).default(0.95, "95"),
    )
    .option("--seed <number>", "decides every fault", whole, 1)
    .addOption(
      new Option("--shard <i/n>", "inject only the i-th of n parts")
        .argParser(shard)
        .default({ index: 0, count: 1 }, "1/1"),
    )
    .option("--jobs <count>", "processes that inject at the same time", jobs, 1)
    .option(
      "--queue <url>",
      "plan only, for belay campaign work on any machines; a redis:// or rediss:// URL",
    )
    .option("--time-limit <seconds>", "stop after this time; --resume goes on", count)
    .addOption(timeoutOption())
    .option("--resume", "go on with the campaign in the output directory, if there is one", false)
    .option("--out <directory>", "where the results are kept and the report goes", path, "belay-campaign")
    .addOption(weightsOption())
    .option("--json", "print the result as JSON", false)
    .action(async (workload: string | undefined, flags: Flags, command: Command) => {
      if (workload === undefined && !flags.resume)
        command.error("error: missing required argument 'workload'");
      if (flags.flavors.every((flavor) => flavor === "inter")) {
        refuseBeside(command, "--flavors inter", ["pairing"], "replicas are in workgroups of their own");
      }
      if (flags.queue !== undefined) {
        refuseBeside(command, "--queue", ["shard", "jobs"], "workers share the injections");
      }
      const results = await withProgress(io, "loading the workload", async ({ doing, tell: onEvent }) => {
        // The URL is checked before a workload is loaded, and never printed.
        const redis = flags.queue === undefined ? undefined : new RedisAddress(flags.queue);
        const { settings, shard } =
          workload === undefined
            ? begunIn(command, flags.out)
            : { settings: await settingsOf(workload, flags), shard: flags.shard };
        const options = {
          directory: flags.out,
          settings,
          resume: flags.resume,
          openLimitMs: 1000 * flags.timeout,
          ...(flags.timeLimit !== undefined && { timeLimitMs: 1000 * flags.timeLimit }),
          onProgress: describing(doing),
        };
        return redis
          ? planForWorkers({ ...options, redis, onEvent })
          : runCampaign({ ...options, shard, jobs: flags.jobs, programs: programsModule });
      });
      const summary = summarize(results, flags.weights);
      await printCampaign(io, flags.out, results, flags.json, summary);
      finish(summary.ok ? exitStatus.ok : exitStatus.failed);
    })
    .addCommand(campaignWorkCommand(io, finish))
    .addCommand(campaignMergeCommand(io, finish))
    .addCommand(campaignCompareCommand(io, finish))
    .addCommand(campaignReplayCommand(io, finish))
    .addCommand(campaignSignatureCommand(io, finish))
    .addCommand(campaignInstrumentCommand(io, finish));
}

/** The flags that decide a campaign's settings. */
const settingFlags = [
  "flavors",
  "checks",
  "pairing",
  "memory",
  "models",
  "structures",
  "margin",
  "bound",
  "minimum",
  "confidence",
  "seed",
  "shard",
];

/** Returns the settings of the campaign in a directory, which no flag may change. */
function begunIn(command: Command, directory: string): Pick<Header, "settings" | "shard"> {
  refuseBeside(command, "--resume alone", settingFlags, "the campaign that goes on has decided it");
  return readHeader(directory);
}

/** Plans a campaign for workers on any machines. An interrupt drains it. */
async function planForWorkers(
  options: Omit<Parameters<typeof planCampaign>[0], "version" | "signal">,
): Promise<Results> {
  const { results } = await withInterrupt((signal) =>
    planCampaign({ ...options, version: readVersion(), signal }),
  );
  return results;
}

async function settingsOf(workload: string, flags: Flags): Promise<CampaignSettings> {
  const { flavors, checks, pairing, memory, structures, models, margin, minimum, confidence, seed } = flags;
  const programs: CampaignSettings["programs"][number][] = [];
  for (const name of await namesOf(workload)) {
    // A workload that cannot be loaded, or that ends or blocks its process, is refused before a
    // store exists.
    if (await isModule(name)) await askWorkload("load", name, {}, flags);
    programs.push({ name, digest: await digestOf(name) });
  }
  return {
    programs,
    configurations: campaignConfigurations({ flavors, checks, pairing, memory, structures }),
    structures,
    models,
    margin,
    bound: flags.bound ?? margin,
    minimum,
    confidence,
    seed,
  };
}

/** Returns a listener that describes the progress of a campaign. */
function describing(doing: (what: string) => void): (progress: Progress) => void {
  let first: { readonly done: number; readonly time: number } | undefined;
  return (progress) => {
    const { done } = progress;
    const time = performance.now();
    first ??= { done, time };
    const rate = done === first.done ? 0 : (1000 * (done - first.done)) / (time - first.time);
    doing(describeProgress(progress, rate));
  };
}

/**
 * Describes the progress. `rate` is the number of injections per second, or 0 before the first. The
 * total grows where rates are not known well enough yet, so the time that is left is the least.
 */
function describeProgress({ doing, done, total }: Progress, rate: number): string {
  if (rate === 0) return doing;
  const left = formatTime(Math.max(0, total - done) / rate);
  return `${doing}: ${done} of ${total} injections, ${rate.toFixed(0)} per second, at least ${left} left`;
}

function formatTime(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const list = <Name extends string>(
  flags: string,
  what: string,
  known: readonly Name[],
  standard: readonly Name[],
) =>
  new Option(flags, `${what}: some of ${known.join(", ")}`)
    .argParser((text) => namesFrom(text, known))
    .default(standard, standard.length === known.length ? "all" : standard.join(",") || "none");

/** Parses a rate such as `1%` or `0.01`. */
function rate(text: string): number {
  const [, digits, percent] = /^([\d.]+)\s*(%?)$/.exec(text) ?? [];
  const value = Number(digits ?? Number.NaN) / (percent ? 100 : 1);
  if (!(value > 0 && value < 0.5)) throw new InvalidArgumentError("Expected a rate such as 1%.");
  return value;
}

/**
 * The greatest confidence in percent. Quantiles of the normal distribution are not accurate beyond
 * it.
 */
const MOST_PERCENT = 99.9999999;

function confidence(text: string): number {
  const percent = Number(text.replace(/%$/, ""));
  if (!(percent >= 50 && percent < 100)) throw new InvalidArgumentError("Expected percents such as 95.");
  if (percent > MOST_PERCENT) throw new InvalidArgumentError(`Expected at most ${MOST_PERCENT}.`);
  return percent / 100;
}

function shard(text: string): Shard {
  const [, index, count] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  if (!(Number(index) >= 1 && Number(index) <= Number(count) && Number.isSafeInteger(Number(count)))) {
    throw new InvalidArgumentError("Expected a form such as 1/4.");
  }
  return { index: Number(index) - 1, count: Number(count) };
}
